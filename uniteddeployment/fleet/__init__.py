"""The fleet: Cluster objects, their credentials, and a member with watches and caches for each connected cluster."""
