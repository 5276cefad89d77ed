"""The controller of EndpointSlices and Endpoints."""
