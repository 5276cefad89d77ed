"""Custom resources: definitions, their schemas and rules, and the resources that they define."""
