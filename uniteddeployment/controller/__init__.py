"""The loop: sources -> queue -> observe -> plan -> act -> report. See docs/architecture.md for the way of the data."""
