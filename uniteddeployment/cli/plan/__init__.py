"""``ud plan``: a preview of what the controller would do."""
