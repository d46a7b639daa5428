"""One control group per node, the parent of everything its kubelet starts."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from localcluster.address_plan import PREFIX, belongs_to_some_cluster
from localcluster.errors import Problem

ROOT = Path("/sys/fs/cgroup")


def create(names: list[str]) -> None:
    """Make the groups in every hierarchy, ready to hold children."""
    for hierarchy in _hierarchies():
        for name in names:
            _create_one(hierarchy, hierarchy / name)


def names() -> set[str]:
    """The groups of all clusters on this machine."""
    return {group.name for hierarchy in _hierarchies() for group in _groups(hierarchy)}


def remove(bridge: str) -> None:
    """Remove all groups of the cluster with this bridge, whose processes are gone."""
    deadline = time.monotonic() + 10
    for hierarchy in _hierarchies():
        for group in _groups(hierarchy):
            if group.name.startswith(f"{bridge}-"):
                _remove_tree(group, deadline)


def _groups(hierarchy: Path) -> list[Path]:
    return [group for group in hierarchy.glob(f"{PREFIX}*") if belongs_to_some_cluster(group.name)]


def _hierarchies() -> Iterator[Path]:
    if (ROOT / "cgroup.controllers").exists():
        yield ROOT
        return
    yield from (path for path in sorted(ROOT.iterdir()) if (path / "cgroup.procs").exists() and not path.is_symlink())


def _create_one(hierarchy: Path, group: Path) -> None:
    group.mkdir(exist_ok=True)
    if hierarchy == ROOT:
        for controller in ("cpuset", "cpu", "io", "memory", "pids"):
            (ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
    # In version 1 a cpuset starts empty and then takes no process.
    elif (group / "cpuset.cpus").exists():
        for kind in ("cpus", "mems"):
            (group / f"cpuset.{kind}").write_text((hierarchy / f"cpuset.{kind}").read_text())


def _remove_tree(group: Path, deadline: float) -> None:
    for folder, _, _ in os.walk(group, topdown=False):
        while True:
            try:
                Path(folder).rmdir()
                break
            except FileNotFoundError:
                break
            except OSError as error:  # busy until the kernel has buried the last process
                if time.monotonic() > deadline:
                    raise Problem(f"The control group {folder} is still in use ({error.strerror})") from error
                time.sleep(0.05)
