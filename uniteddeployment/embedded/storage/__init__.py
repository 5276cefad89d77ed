"""Storage: objects with versions and history, and the registry of served resources."""
