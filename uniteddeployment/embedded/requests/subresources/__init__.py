"""Subresources: status, scale, finalize, eviction, binding and token."""
