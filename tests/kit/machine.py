"""What one cluster has outside its folder, seen from the machine: whatever is left of it once it is deleted is a leak.

Other clusters come and go meanwhile, the demo's among them: what is theirs does not count.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from localcluster import record
from localcluster.address_plan import Network, belongs_to_some_cluster
from localcluster.isolation import KUBELET_SETTINGS
from localcluster.processes import MARKER, process_namespaces

Route = dict[str, Any]
CONTROL_GROUPS = Path("/sys/fs/cgroup")
# What kubelets and containerds make where nobody tells them to keep to a group of their own.
STRAY_GROUPS = ("kubepods", "system.slice/kubelet", "k8s.io")


@dataclass(frozen=True)
class Belongings:
    """By what a cluster is known on the machine; read while it is there, asked also when it is gone."""

    folder: Path
    network: Network
    inside: frozenset[tuple[int, str]]  # process and namespace: containers carry no mark

    def traces(self) -> dict[str, list[str]]:
        """Kind -> what there is of it now; a kind without any is not named."""
        found = {
            "folder": [str(self.folder)] if self.folder.exists() else [],
            "processes": sorted(self._processes()),
            "containers": [str(pid) for pid, _ in self.inside & set(process_namespaces().items())],
            "mounts": [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if self._names(line)],
        }
        if self.network.bridge and _alias(self.network.bridge) in ("", str(self.folder)):
            found |= self._traces_by_name()
        return {kind: items for kind, items in found.items() if items}

    def _traces_by_name(self) -> dict[str, list[str]]:
        """What carries the name of the bridge, as long as no other cluster has taken that name."""
        return {
            "links": [link["ifname"] for link in _links() if self._names(link["ifname"])],
            "routes": [route["dst"] for route in _routes() if self._leads_here(route)],
            "control groups": sorted(group for group in _control_groups() if self._names(group)),
        }

    def _processes(self) -> Iterator[str]:
        """Every process that carries the mark of the cluster, or names its folder in its command."""
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes()
                marked = f"{MARKER}={self.folder}".encode() in (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if marked or f"{self.folder}/".encode() in words:
                yield f"{entry.name} {words.split(bytes(1))[0].decode()}"

    def _names(self, text: str) -> bool:
        bridge = self.network.bridge
        return str(self.folder) in text or (bool(bridge) and (text == bridge or f"{bridge}-" in text))

    def _leads_here(self, route: Route) -> bool:
        if route["dst"] == "default" or belongs_to_some_cluster(route["dev"]):
            return bool(route["dev"] == self.network.bridge)
        ranges = (self.network.nodes, self.network.pods, self.network.services)
        return any(IPv4Network(route["dst"]).overlaps(IPv4Network(each)) for each in ranges)


def belongings_of(name: str) -> Belongings:
    """Read them from the record of a cluster that is there, whole or in part."""
    cluster = record.load_existing(name)
    file = cluster.pid_namespace_file
    namespace = file.read_text() if file.exists() else ""
    inside = {(pid, where) for pid, where in process_namespaces().items() if where == namespace}
    return Belongings(cluster.folder, cluster.network, frozenset(inside))


def shared_state() -> dict[str, object]:
    """What all of the machine shares, and no cluster may change: settings, named namespaces, stray control groups."""
    return {
        "settings": [Path("/proc/sys", name).read_text() for name in KUBELET_SETTINGS],
        "named namespaces": _output("ip", "netns", "list").splitlines(),
        "stray control groups": sorted(group for group in _control_groups() if group.endswith(STRAY_GROUPS)),
    }


def _control_groups() -> Iterator[str]:
    """The control groups of the machine, those inside a cluster's own left out."""
    for folder, inside, _ in os.walk(CONTROL_GROUPS):
        for name in inside:
            yield str(Path(folder, name).relative_to(CONTROL_GROUPS))
        inside[:] = [name for name in inside if not name.startswith("pilotage")]


def _alias(bridge: str) -> str:
    """The folder that a bridge names; empty if it names none or is not there."""
    return next((str(link.get("ifalias", "")) for link in _links() if link["ifname"] == bridge), "")


def _links() -> list[dict[str, Any]]:
    return list(json.loads(_output("ip", "-json", "link", "show")))


def _routes() -> list[Route]:
    return list(json.loads(_output("ip", "-json", "-4", "route", "show", "table", "all")))


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
