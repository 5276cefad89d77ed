"""The controllers of the cluster: those of kube-controller-manager, the scheduler and simulated kubelets."""
