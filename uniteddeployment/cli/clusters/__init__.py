"""``ud clusters``: register members with the host, show them, and take them out of service."""
