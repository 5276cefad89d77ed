"""Simulated kubelets: pods and containers that run on nodes, and the health of nodes."""
