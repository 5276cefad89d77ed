"""The API's vocabulary, independent of any cluster: kinds, metadata, names, quantities, selectors and tables."""
