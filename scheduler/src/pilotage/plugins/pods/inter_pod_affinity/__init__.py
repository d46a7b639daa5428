"""Pods that want to be near other pods, or away from them."""

from pilotage.plugins.pods.inter_pod_affinity.inter_pod_affinity import InterPodAffinity

__all__ = ["InterPodAffinity"]
