"""The Deployment controller."""
