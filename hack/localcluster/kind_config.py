"""Reads the supported part of a kind configuration file: number of nodes, Kubernetes version, port, feature gates."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from localcluster.errors import Problem

KNOWN = {"kind", "apiVersion", "name", "nodes", "networking", "featureGates", "runtimeConfig"}


@dataclass(frozen=True)
class KindConfig:
    """The settings of a file; None where it says nothing."""

    workers: int | None = None
    kubernetes: str | None = None
    api_port: int | None = None
    name: str | None = None
    feature_gates: str = ""  # as the flags of Kubernetes have them: A=true,B=false
    runtime_config: str = ""


def read(path: Path) -> KindConfig:
    """Read a kind configuration file; unsupported settings are rejected, not ignored."""
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise Problem(f"The configuration {path} cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("kind") != "Cluster":
        raise Problem(f"{path} is not a kind configuration: it must contain `kind: Cluster`")
    networking = content.get("networking") or {}
    unknown = [*(set(content) - KNOWN), *(f"networking.{key}" for key in set(networking) - {"apiServerPort"})]
    if unknown:
        raise Problem(f"{path} uses {', '.join(sorted(unknown))}, which only the real kind (with Docker) supports")
    nodes = content.get("nodes") or []
    features = _flag(content.get("featureGates")), _flag(content.get("runtimeConfig"))
    return KindConfig(_workers(nodes), _version(nodes), networking.get("apiServerPort"), content.get("name"), *features)


def version_of_image(image: str) -> str:
    """The Kubernetes version that a kind node image stands for."""
    tag = re.fullmatch(r"[^@]*:v?(\d+\.\d+\.\d+)(@sha256:[0-9a-f]+)?", image)
    if not tag:
        raise Problem(f"The image {image!r} has no Kubernetes version; write for example kindest/node:v1.37.1")
    return tag[1]


def _flag(values: dict[str, Any] | None) -> str:
    words = {name: str(value).lower() if isinstance(value, bool) else value for name, value in (values or {}).items()}
    return ",".join(f"{name}={value}" for name, value in words.items())


def _workers(nodes: list[dict[str, Any]]) -> int | None:
    if not nodes:
        return None
    # Our control plane is no node; a configuration without workers expects pods to run all the same.
    return max(1, sum(1 for node in nodes if node.get("role") == "worker"))


def _version(nodes: list[dict[str, Any]]) -> str | None:
    images = [str(node["image"]) for node in nodes if "image" in node]
    return version_of_image(images[0]) if images else None
