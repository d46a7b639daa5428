"""Releases of the chart side by side, among which plugins and controllers are shared out: no right is given twice.

Within a release every right then comes from one rule of one role, so that it is seen what each rule is for.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kit.control_plane import ControlPlane
from kit.documented_rights import Right, rights
from kit.fault_proxy import FaultProxy
from kit.looking_glass import free_port
from kit.release import TO_HOME_NODES, Process, Release
from localcluster.paths import REPOSITORY

FILES = REPOSITORY / "charts" / "pilotage" / "files"
PLAIN = "plain"  # the release without a controller
BINDER = "DefaultBinder"  # without it nothing is ever bound


def _read(name: str) -> Any:
    return yaml.safe_load((FILES / name).read_text())


PLUGIN_RIGHTS: Mapping[str, set[Right]] = {
    plugin: set(rights(rules)) for plugin, rules in _read("plugin-rights.yaml").items()
}
CONTROLLERS: Sequence[str] = list(_read("controller-rights.yaml"))
DEFAULT_PLUGINS: Sequence[str] = _read("default-plugins.yaml")


@dataclass
class Neighbour:
    """One of the releases, and its programs."""

    release: Release
    plugins: list[str]  # those that need rights
    controller: str | None
    processes: list[Process] = field(default_factory=list)

    @property
    def scheduler(self) -> str:
        """What pods write as their schedulerName, and the name of its profile."""
        return self.release.name

    @property
    def node(self) -> str:
        """The node on which its pods are played."""
        return f"{self.release.name}-node"

    def values(self, reader: Mapping[str, str]) -> dict[str, Any]:
        """Return the values with which it is installed."""
        plugins = [*self.plugins, BINDER]
        others = [name for name in DEFAULT_PLUGINS if name in PLUGIN_RIGHTS and name not in plugins]
        return {
            "scheduler": {"name": self.scheduler, "replicaCount": 1, **TO_HOME_NODES},
            "operator": TO_HOME_NODES,
            "controller": {
                "kinds": [self.controller] if self.controller else [],
                "restartPodGroups": True,
                "taintNodes": True,
            },
            "rbac": {"plugins": plugins},
            "plugins": {"enabled": [name for name in plugins if name not in DEFAULT_PLUGINS], "disabled": others},
            "profiles": [{"name": "second", "spec": {"base": "None"}}] if self.controller is None else [],
            "monitoring": {"readers": [reader]},
        }


class Neighbours:
    """All releases, in one namespace."""

    def __init__(self, control_plane: ControlPlane, namespace: str, folder: Path) -> None:
        kinds: list[str | None] = [None, *CONTROLLERS]
        shares = shared_out(PLUGIN_RIGHTS, len(kinds))
        self.all = [
            Neighbour(Release(control_plane, namespace, (kind or PLAIN).lower(), folder, 4), plugins, kind)
            for kind, plugins in zip(kinds, shares, strict=True)
        ]
        self.control_plane, self.namespace, self.folder = control_plane, namespace, folder
        self.port = free_port()  # where the plain release serves its metrics
        self.api_port = free_port()  # and its read API
        self.proxy = FaultProxy(control_plane.cluster, "")

    @property
    def plain(self) -> Neighbour:
        """The one without a controller, whose scheduler reaches the API server by the proxy."""
        return self.all[0]

    def with_plugin(self, name: str) -> Neighbour:
        """Return the one that has a plugin."""
        return next(each for each in self.all if name in each.plugins)

    def may_evict(self) -> list[Neighbour]:
        """Return those that have a plugin that evicts pods."""
        evicting = {name for name, given in PLUGIN_RIGHTS.items() if ("cluster", "", "pods", "delete", "") in given}
        return [each for each in self.all if evicting & set(each.plugins)]

    def install(self, reader: Mapping[str, str]) -> None:
        """Install all of them, and wait until somebody has placed their pods."""
        for each in self.all:
            each.release.install(values=each.values(reader))
        with self.control_plane.kube_scheduler():
            words = ("deployment", "-l", "app.kubernetes.io/name=pilotage", "--for=condition=Available")
            self.control_plane.kubectl("-n", self.namespace, "wait", *words, "--timeout=120s")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the programs of all of them until the block ends."""
        with ExitStack() as stack:
            stack.enter_context(self.proxy.running())
            for each in self.all:
                [operator], [scheduler] = each.release.pods("operator"), each.release.pods("scheduler")
                flags = self._flags() if each is self.plain else []
                each.processes = [
                    stack.enter_context(each.release.process("operator", operator)),
                    stack.enter_context(each.release.process("scheduler", scheduler, *flags)),
                ]
            yield

    def _flags(self) -> list[str]:
        way = self.plain.release.kubeconfig("scheduler", self.proxy.server)
        return [f"--kubeconfig={way}", f"--secure-port={self.port}", f"--api-port={self.api_port}"]


def shared_out(wanted: Mapping[str, set[Right]], count: int) -> list[list[str]]:
    """Share names out so that no two in one share want the same right, each into the first share that it can be in."""
    shares: list[list[str]] = [[] for _ in range(count)]
    for name, own in wanted.items():
        free = [share for share in shares if not any(own & wanted[other] for other in share)]
        assert free, f"{name} shares rights with a plugin of each of the {count} releases"
        free[0].append(name)
    return shares
