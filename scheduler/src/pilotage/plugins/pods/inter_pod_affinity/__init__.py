"""Inter-pod affinity and anti-affinity."""

from pilotage.plugins.pods.inter_pod_affinity.inter_pod_affinity import InterPodAffinity

__all__ = ["InterPodAffinity"]
