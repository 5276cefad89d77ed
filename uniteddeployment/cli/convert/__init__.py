"""``ud convert``: UnitedDeployments of OpenKruise as UnitedDeployments of this project."""
