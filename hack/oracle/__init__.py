"""The oracle: the real kube-scheduler decides generated scenarios, and our engine must decide the same."""
