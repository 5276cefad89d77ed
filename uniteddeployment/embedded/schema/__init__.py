"""Schemas as merging and field ownership read them."""
