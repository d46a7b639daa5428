"""Hands over to the real kind on machines where a Docker engine answers."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cluster.binaries import DEFAULT_KUBERNETES, TOOLS
from cluster.build import ensure

# One control plane and two workers: the same number of nodes for pods as our own full shape.
TWO_WORKERS = Path(__file__).with_name("kind.yaml")


def engine_answers() -> bool:
    """Whether a Docker engine, not only its client, is there; PILOTAGE_ENGINE=own or docker overrides."""
    if wanted := os.environ.get("PILOTAGE_ENGINE"):
        return wanted == "docker"
    if not shutil.which("docker"):
        return False
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=10, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def arguments(given: Sequence[str], kubernetes: str) -> list[str]:
    """kind's arguments for what we were asked: two workers and our Kubernetes unless the user said otherwise."""
    words = list(given)
    if words[:2] != ["create", "cluster"]:
        return words
    said = {word.split("=", 1)[0] for word in words}
    if "--config" not in said:
        words.append(f"--config={TWO_WORKERS}")
    if "--image" not in said and kubernetes != DEFAULT_KUBERNETES:
        words.append(f"--image=kindest/node:v{kubernetes}")
    return words


def hand_over(given: Sequence[str], kubernetes: str) -> None:
    """Become kind; does not return."""
    kind = ensure(TOOLS["kind"]) / "kind"
    os.execv(kind, [str(kind), *arguments(given, kubernetes)])  # noqa: S606 - kind takes our place
