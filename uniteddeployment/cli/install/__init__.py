"""``ud crds`` and ``ud rbac``: the manifests that an installation needs."""
