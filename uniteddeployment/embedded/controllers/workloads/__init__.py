"""The shared parts of controllers that create pods: ownership, pod states, revisions and limits."""
