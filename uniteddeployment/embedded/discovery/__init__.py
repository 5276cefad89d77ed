"""What is served, and at which paths: routes, discovery documents, OpenAPI and custom resources."""
