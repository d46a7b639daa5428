"""Subtracts pods that no report accounts for yet from zones.

Reports about nodes are late. Until one arrives, each pod that this scheduler placed on a node is subtracted from every
zone, because only the kubelet knows its zone. A report contains a fingerprint of the pods that it accounts for; once
these are identified, the report is accepted and the pods are no longer subtracted.
"""

from collections.abc import Sequence
from typing import Final

from pilotage.framework.api.objects import Objects
from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.model.pod import Pod
from pilotage.plugins.topology.node_resource_topology_match.node_account import Account, Resync
from pilotage.plugins.topology.node_resource_topology_match.zone_columns import View

FEW: Final = 64  # accounts; below this number, those of deleted nodes are kept


class OverReserve:
    """The accounts of all nodes."""

    def __init__(self, rules: Resync) -> None:
        self.changes = 0
        self.touched: set[str] = set()
        self._rules = rules
        self._accounts: dict[str, Account] = {}
        self._nodes: dict[str, str] = {}  # the node of each reserved pod
        self._ours: set[str] = set()  # the names of our schedulers
        self._most = FEW

    def view(self, objects: Objects, node: str) -> View:
        """Return the zones with the amounts that are certainly free."""
        topology = objects.get(NodeResourceTopology, node)
        if topology is None and node not in self._accounts:
            return None
        if len(self._accounts) > self._most:
            self._clear_out(objects)
        return self._account(node).view(topology, self._ours)

    def evicted(self, objects: Objects, node: str, victims: Sequence[Pod]) -> View | str:
        """Return the zones of a node without some of its pods, or why they are unknown."""
        topology = objects.get(NodeResourceTopology, node)
        return None if topology is None else self._account(node).evicted(victims, topology, self._ours)

    def serves(self, scheduler: str) -> None:
        """Record the name of one of our schedulers, whose pods are not strangers."""
        if scheduler not in self._ours:
            self._ours.add(scheduler)
            for account in self._accounts.values():
                account.recheck()
            self.changes += 1

    def reserve(self, pod: Pod, node: str) -> None:
        """Subtract a pod's demand from the zones of its node."""
        self._account(node).reserve(pod)
        self._nodes[pod.uid] = node
        self.touched.add(node)

    def unreserve(self, pod: Pod, node: str) -> None:
        """Release it."""
        self._account(node).unreserve(pod.uid)
        self._nodes.pop(pod.uid, None)
        self.touched.add(node)

    def bound(self, pod: Pod, node: str) -> None:
        """Keep the reservation: the report does not include the pod yet."""

    def placed(self, pod: Pod) -> None:
        """Record a pod that counts on its node."""
        if not pod.spec.node_name:
            self.serves(pod.scheduler_name)
            self._nodes[pod.uid] = pod.node_name
        self._account(pod.node_name).placed(pod)
        self.touched.add(pod.node_name)

    def left(self, pod: Pod) -> None:
        """Record a pod that left its node, or is about to be placed again."""
        self._account(pod.node_name).left(pod)
        self._nodes.pop(pod.uid, None)
        self.touched.add(pod.node_name)

    def came(self, pod: Pod) -> bool:
        """Return whether pods on this pod's node can change its account."""
        return self._is_open(pod)

    def went(self, pod: Pod) -> bool:
        """Return whether pods on this pod's node can change its account."""
        return self._is_open(pod)

    def _is_open(self, pod: Pod) -> bool:
        node = pod.node_name or self._nodes.get(pod.uid, "")
        return not node or (node in self._accounts and self._accounts[node].is_open)

    def _account(self, node: str) -> Account:
        found = self._accounts.get(node)
        if found is None:
            found = self._accounts[node] = Account(node, self._rules)
        return found

    def _clear_out(self, objects: Objects) -> None:
        """Forget deleted nodes."""
        self._accounts = {
            node: account
            for node, account in self._accounts.items()
            if not account.is_empty or objects.get(NodeResourceTopology, node) is not None
        }
        self._most = FEW + 2 * len(self._accounts)
