"""Chooses between the real kind and our own nodes, and hands over to the real one.

    PILOTAGE_ENGINE=own, or --shape          our own nodes
    no Docker engine answers                 our own nodes
    an engine that cannot get a node image   our own nodes, with a message
    ... or cannot run it privileged          our own nodes, with a message
    any other engine                         the real kind; PILOTAGE_ENGINE=docker insists on it

A cluster that exists is asked where it is: what we made is on record.
"""

import os
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from localcluster import docker_engine, record
from localcluster.binaries import DEFAULT_KUBERNETES, TOOLS
from localcluster.build import ensure
from localcluster.errors import Problem
from localcluster.progress import say

# One control plane and two workers: the same number of nodes for pods as our own full shape.
TWO_WORKERS = Path(__file__).with_name("kind.yaml")
# The default of the pinned kind; images of newer patches come out with the next kind.
DEFAULT_IMAGE = "kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5"

CLUSTER_LABEL = "io.x-k8s.kind.cluster"  # every node of a cluster carries its name


def engine_answers() -> bool:
    """Whether a Docker engine may be used here; PILOTAGE_ENGINE=own or docker overrides."""
    if wanted := os.environ.get("PILOTAGE_ENGINE"):
        return wanted == "docker"
    return docker_engine.answers()


def makes_nodes(words: Sequence[str], kubernetes: str) -> bool:
    """Whether the real kind will make the nodes of a new cluster; says why, if an engine answers and it will not."""
    if not engine_answers():
        return False
    reason = _why_not(image_of(words, kubernetes))
    if reason is None:
        return True
    if os.environ.get("PILOTAGE_ENGINE") == "docker":
        raise Problem(f"Docker {reason}; fix that, or unset PILOTAGE_ENGINE")
    say(f"Docker is available but {reason}: nodes are created without Docker")
    return False


def _why_not(image: str) -> str | None:
    named = image.partition("@")[0]
    if reason := docker_engine.why_not_there(image):
        return f"cannot get {named} ({reason})"
    if reason := docker_engine.why_not_privileged(image):
        return f"cannot run {named} as a node ({reason})"
    return None


def image_of(words: Sequence[str], kubernetes: str) -> str:
    """The node image of a new cluster: the one that the user named, or the one of the Kubernetes version."""
    for word, following in pairwise([*words, ""]):
        if word.split("=", 1)[0] == "--image":
            return word.partition("=")[2] or following
    return DEFAULT_IMAGE if kubernetes == DEFAULT_KUBERNETES else f"kindest/node:v{kubernetes}"


def has(name: str) -> bool:
    """Whether a cluster that a user names is one of the real kind."""
    return record.load(name) is None and name in cluster_names()


def cluster_names() -> list[str]:
    """The clusters of the real kind."""
    return docker_engine.labels_of_containers(CLUSTER_LABEL) if engine_answers() else []


def delete(name: str, kubeconfig: Path | None) -> None:
    """Delete a cluster of the real kind, which says so itself."""
    file = [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
    subprocess.run([_program(), "delete", "cluster", f"--name={name}", *file], check=True)


def arguments(given: Sequence[str], kubernetes: str) -> list[str]:
    """kind's arguments for what we were asked: two workers and our Kubernetes unless the user said otherwise."""
    words = list(given)
    if words[:2] != ["create", "cluster"]:
        return words
    said = {word.split("=", 1)[0] for word in words}
    if "--config" not in said:
        words.append(f"--config={TWO_WORKERS}")
    if "--image" not in said:
        words.append(f"--image={image_of(words, kubernetes)}")
    return words


def hand_over(given: Sequence[str], kubernetes: str) -> None:
    """Become kind; does not return."""
    kind = _program()
    os.execv(kind, [kind, *arguments(given, kubernetes)])  # noqa: S606 - kind takes our place


def _program() -> str:
    return str(ensure(TOOLS["kind"]) / "kind")
