"""Registries on this machine: a node's own localhost has none, so it is sent to the machine's address on the bridge."""

import re
from collections.abc import Sequence
from pathlib import Path

from localcluster.errors import Problem
from localcluster.record import Cluster

# The default address of a registry.
USUAL = "localhost:5000"
LOCAL = re.compile(r"localhost:\d{1,5}")


def check(names: Sequence[str]) -> None:
    """Refuse a name that a node can reach, or not, without our help."""
    for name in names:
        if not LOCAL.fullmatch(name):
            raise Problem(f"{name!r} is not on this machine: write --registry localhost:PORT; others need none")


def folder_of(cluster: Cluster) -> Path:
    """Where containerd looks for how to reach a registry, at every pull."""
    return cluster.folder / "registries"


def write_files(cluster: Cluster) -> None:
    """Say where the registries of this machine are: plain HTTP, at the machine's address on the bridge."""
    for name in {USUAL, *cluster.registries}:
        place = f"http://{cluster.network.gateway}:{name.rpartition(':')[2]}"
        folder = folder_of(cluster) / name
        folder.mkdir(parents=True)
        hosts = f'server = "{place}"\n[host."{place}"]\n  capabilities = ["pull", "resolve"]\n'
        (folder / "hosts.toml").write_text(hosts)
