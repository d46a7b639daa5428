"""NodeDeclaredFeatures: features that a pod needs and that not every kubelet has."""

from collections.abc import Iterator

import numpy as np

from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter
from pilotage.framework.api.verdicts import SKIP_SHAPE, Filtered, PreFiltered, Rejection, Verdicts
from pilotage.model.node import Node
from pilotage.model.pod import Pod, PodShape

LACKING = Rejection("node(s) didn't match Pod's required features", preemption_helps=False)

RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
BIND_MOUNT_OPTIONS = "VolumeBindMountOptions"


class NodeDeclaredFeatures(PreFilter, Filter):
    """Keep pods off nodes that do not declare a feature that the pod needs."""

    caching = Caching(STATIC, per=SHAPE)
    retry_on = (
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, "features_changed"),
        Retry(Resource.TARGET_POD, Action.UPDATE, "needs_changed"),
    )

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Skip pods that need no such feature."""
        return None if _needed(pod) else SKIP_SHAPE

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node that lacks a feature."""
        return None if _needed(pod) <= node.node.declared_features else LACKING

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes; there is no column of features, since hardly any pod needs one."""
        needed = _needed(pod)
        lacking = (not needed <= node.node.declared_features for node in nodes)
        return Verdicts.where(np.fromiter(lacking, np.bool_, len(nodes)), LACKING)

    def features_changed(self, pod: Pod, event: Event, old: Node | None, new: Node) -> bool:
        """Return whether the node is new or its declared features have changed."""
        return old is None or old.declared_features != new.declared_features

    def needs_changed(self, pod: Pod, event: Event, old: Pod, new: Pod) -> bool:
        """Return whether the features that the pod needs have changed."""
        return _needed(old) != _needed(new)


def _needed(pod: Pod) -> frozenset[str]:
    return pod.shape.remember(("NodeDeclaredFeatures", "needed"), lambda shape: frozenset(_inferred(shape)))


def _inferred(shape: PodShape) -> Iterator[str]:
    spec = shape.spec
    containers = (*spec.containers, *spec.init_containers)
    if any(rule.action == "RestartAllContainers" for each in containers for rule in each.restart_policy_rules):
        yield RESTART_ALL
    if spec.host_network and spec.host_users is False:
        yield USER_NAMESPACES
    mounts = (mount for each in (*containers, *spec.ephemeral_containers) for mount in each.volume_mounts)
    if any(mount.bind_mount_options for mount in mounts):
        yield BIND_MOUNT_OPTIONS
