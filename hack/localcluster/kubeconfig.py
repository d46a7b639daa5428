"""Kubeconfig files: one per identity of the cluster, and the entry in a user's own file as kind writes it."""

import base64
import os
from pathlib import Path
from typing import Any

import yaml

from localcluster.errors import Problem


def document(context: str, server: str, pki: Path, identity: str) -> dict[str, Any]:
    """A kubeconfig with everything inside, so that it works wherever it is copied."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": context, "cluster": {"server": server, "certificate-authority-data": _data(pki / "ca.crt")}}
        ],
        "users": [
            {
                "name": context,
                "user": {
                    "client-certificate-data": _data(pki / f"{identity}.crt"),
                    "client-key-data": _data(pki / f"{identity}.key"),
                },
            }
        ],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "current-context": context,
    }


def default_path() -> Path:
    """The file that kubectl would change."""
    first = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(first) if first else Path.home() / ".kube" / "config"


def merge(path: Path, addition: dict[str, Any]) -> None:
    """Add a cluster to a kubeconfig and make it the current one; all else in the file stays."""
    existing = _read(path)
    for section in ("clusters", "users", "contexts"):
        fresh = {entry["name"] for entry in addition[section]}
        kept = [entry for entry in existing.get(section) or [] if entry.get("name") not in fresh]
        existing[section] = kept + addition[section]
    write(path, {"apiVersion": "v1", "kind": "Config"} | existing | {"current-context": addition["current-context"]})


def remove(path: Path, context: str) -> None:
    """Take a cluster out of a kubeconfig; a file that is not there is left alone."""
    if not path.exists():
        return
    existing = _read(path)
    for section in ("clusters", "users", "contexts"):
        existing[section] = [entry for entry in existing.get(section) or [] if entry.get("name") != context]
    if existing.get("current-context") == context:
        existing["current-context"] = ""
    write(path, existing)


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a kubeconfig that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        yaml.safe_dump(content, file, sort_keys=False)
    unfinished.replace(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text()) if path.exists() else None
    except yaml.YAMLError as error:
        raise Problem(f"The kubeconfig {path} is not YAML; repair it or name another with --kubeconfig") from error
    if content is not None and not isinstance(content, dict):
        raise Problem(f"The kubeconfig {path} is not a mapping; repair it or name another with --kubeconfig")
    return content or {}


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
