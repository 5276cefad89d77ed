"""Served resources and their paths: routes, discovery documents, OpenAPI and custom resources."""
