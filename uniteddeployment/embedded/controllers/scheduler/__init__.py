"""The scheduler: filters, scores, preemption, and the controller that binds pods to nodes."""
