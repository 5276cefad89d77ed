"""The loop around the decision: watches of the host, a work queue, and the writes."""
