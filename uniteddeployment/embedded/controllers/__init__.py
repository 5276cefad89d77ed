"""The controllers of the cluster: what kube-controller-manager, kube-scheduler and the kubelets do."""
