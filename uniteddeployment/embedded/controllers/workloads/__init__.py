"""What controllers that create pods share: ownership, pod states, revisions and limits."""
