"""The real Karpenter beside a scheduler: its provider for kwok's nodes adds fake ones for pods that ask."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kit.commands import Manifest
from kit.control_plane import ControlPlane, running
from localcluster.binaries import TOOLS
from localcluster.build import ensure

KINDS = ("nodeclaims.karpenter.sh", "nodeoverlays.karpenter.sh", "nodepools.karpenter.sh")
NODE_CLASSES = "kwoknodeclasses.karpenter.kwok.sh"
SECONDS = 120.0


@contextmanager
def karpenter(control_plane: ControlPlane) -> Iterator[None]:
    """Run Karpenter with its kinds, and take all that away again."""
    folder, kubectl = ensure(TOOLS["karpenter"]), control_plane.kubectl
    kubectl("apply", "--server-side", "-f", str(folder / "crds.yaml"))
    for name in (*KINDS, NODE_CLASSES):
        kubectl.until_established(f"crd/{name}")
    command = [str(folder / "karpenter"), "--disable-leader-election", "--metrics-port=0", "--health-probe-port=0"]
    log = control_plane.cluster.logs / f"karpenter-{time.monotonic_ns()}.log"
    with running(command, log, {**os.environ, "KUBECONFIG": str(control_plane.kubeconfig)}):
        yield
    kubectl.delete_definitions(*KINDS, NODE_CLASSES)


class NodePool:
    """A pool of nodes with the labels that its pods want; what was added for it shows as NodeClaims."""

    def __init__(self, control_plane: ControlPlane, name: str) -> None:
        self._kubectl, self._name = control_plane.kubectl, name

    @contextmanager
    def open(self) -> Iterator["NodePool"]:
        """Let Karpenter add nodes; afterwards all of them are gone, while it is there to let go of them."""
        self._kubectl.apply(*_manifests(self._name))
        try:
            yield self
        finally:
            self._kubectl("delete", "pods", "--all", "-n", self._name, "--force", "--grace-period=0")
            self._kubectl("delete", "nodepool,kwoknodeclass", self._name, "--wait=false")
            self._until_empty()

    def claims(self) -> list[Any]:
        """Return the nodes that were added, or will be."""
        selector = f"--selector=karpenter.sh/nodepool={self._name}"
        return list(self._kubectl.get("nodeclaims", selector)["items"])

    def _until_empty(self) -> None:
        deadline = time.monotonic() + SECONDS
        while left := self.claims():
            assert time.monotonic() < deadline, f"{len(left)} nodes of Karpenter are still there"
            time.sleep(0.5)


def _manifests(name: str) -> list[Manifest]:
    linux = [
        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    ]
    node_class = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": name}
    template = {
        "metadata": {"labels": {"type": "kwok", "only": name}},  # the first is how kwok knows its nodes
        "spec": {"requirements": linux, "nodeClassRef": node_class, "expireAfter": "Never"},
    }
    return [
        {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": name}},
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": name},
            "spec": {"template": template, "disruption": {"consolidateAfter": "Never"}},
        },
    ]
