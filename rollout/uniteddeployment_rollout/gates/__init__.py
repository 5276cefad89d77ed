"""Gates of rollout steps: what is measured, and what the measurements mean.

``resolve``, ``rows``, ``judge`` and ``readiness`` are pure, and ``advance`` calls them. The other modules measure
beside it, asynchronously. Their results are inputs of the next decision.
"""
