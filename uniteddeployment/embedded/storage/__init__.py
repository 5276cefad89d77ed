"""Objects with their versions and history, and the registry of the resources that they belong to."""
