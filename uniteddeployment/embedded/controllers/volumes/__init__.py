"""Controllers of volumes and claims: binding and protection."""
