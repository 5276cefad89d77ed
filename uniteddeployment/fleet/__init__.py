"""Cluster objects become connected members: credentials, watches, caches, and how each cluster stands to us."""
