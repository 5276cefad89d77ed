"""Vocabulary of the API that knows no cluster: kinds, metadata, names, quantities, selectors and tables."""
