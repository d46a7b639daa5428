"""Images on nodes: the two that every node needs, and those that a user loads."""

import subprocess
from pathlib import Path

from localcluster import image_archive
from localcluster.errors import Problem
from localcluster.node import PAUSE_IMAGE, Node, nodes_of
from localcluster.paths import cache_dir
from localcluster.progress import Step
from localcluster.record import Cluster

OWN_IMAGES = {"pause": PAUSE_IMAGE, "coredns": "localhost/coredns:1"}


def node_archives(cluster: Cluster) -> list[Path]:
    """The archives that a node imports before its kubelet starts."""
    return [_archive_of(Path(cluster.binaries[program]), image) for program, image in OWN_IMAGES.items()]


def _archive_of(program: Path, image: str) -> Path:
    archive = cache_dir() / "images" / program.parent.name / f"{program.name}.tar"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        image_archive.write(archive, image, program)
    return archive


def load(cluster: Cluster, archive: Path, only: list[str]) -> None:
    """Import an image archive on the nodes of a cluster, or on some of them."""
    if not archive.is_file():
        raise Problem(f"There is no image archive {archive}; create one with: make images")
    nodes = nodes_of(cluster)
    if unknown := set(only) - {node.name for node in nodes}:
        raise Problem(f"Cluster {cluster.name!r} has no node {', '.join(sorted(unknown))}: get nodes lists them")
    if not nodes:
        raise Problem(f"Cluster {cluster.name!r} has no real nodes to load images on; create one with --shape full")
    _load_on([node for node in nodes if not only or node.name in only], archive.resolve())


def _load_on(nodes: list[Node], archive: Path) -> None:
    """Import on all nodes at once; each has a containerd of its own."""
    with Step(f"loading {archive.name} on {', '.join(node.name for node in nodes)}"):
        imports = {
            node.name: subprocess.Popen(
                node.import_command(archive), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            for node in nodes
        }
        said = {name: process.communicate()[1] for name, process in imports.items()}
        for name, process in imports.items():
            if process.returncode:
                raise Problem(f"{archive} was not loaded on {name}: {said[name].strip()}")
