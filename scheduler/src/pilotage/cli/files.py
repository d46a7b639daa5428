"""A file in place of a cluster: manifests, or the output of `kubectl get -o yaml` and `-o json`."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pilotage.cluster.kubectl.refusals import NOT_FOUND, NotReached, Refused
from pilotage.cluster.kubectl.requests import Documents

_NOTHING: Mapping[str, str] = {}
GIVE = "give manifests, or the output of kubectl get -o yaml"
KINDS = {"pods": "Pod", "nodes": "Node", "events": "Event", "schedulerprofiles": "SchedulerProfile", "leases": "Lease"}


class FileCluster(Documents):
    """Answers the questions of commands from the objects of a file, as an API server would."""

    def __init__(self, name: str) -> None:
        self.namespace = "default"
        self._objects = [_completed(each) for each in _objects(_documents(name), name)]

    async def get(self, path: str) -> dict[str, Any]:
        """Return one object."""
        *_, plural, wanted = path.rstrip("/").split("/")
        found = next((each for each in await self._of(plural) if each["metadata"]["name"] == wanted), None)
        if found is None:
            raise Refused(NOT_FOUND, f"the file has no {plural} {wanted}")
        return found

    async def items(self, path: str, query: Mapping[str, str] = _NOTHING) -> list[dict[str, Any]]:
        """Return all objects of a kind, of one namespace if the path names it."""
        parts = path.rstrip("/").split("/")
        place = parts[-2] if len(parts) > 3 and parts[-3] == "namespaces" else ""
        return [each for each in await self._of(parts[-1]) if place in ("", each["metadata"].get("namespace"))]

    async def post(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse: a file has no rights and no clock."""
        raise NotReached("this needs a cluster, not a file; use --source live or local")

    async def close(self) -> None:
        """Do nothing."""

    async def _of(self, plural: str) -> list[dict[str, Any]]:
        return [each for each in self._objects if each.get("kind") == KINDS.get(plural)]


def _documents(name: str) -> Iterator[Any]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise NotReached(
            f"cannot read {name}: {error.strerror}; --source takes auto, live, local, a file or https://..."
        ) from error
    except UnicodeDecodeError as error:
        raise NotReached(f"{name} is not UTF-8 text; {GIVE}") from error
    if text.lstrip().startswith("{"):
        yield _json(text, name)
        return
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.load_all(text, loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise NotReached(f"{name} is not valid YAML ({' '.join(str(error).split())}); {GIVE}") from error


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotReached(f"{name} is not valid JSON ({error}); {GIVE}") from error


def _objects(documents: Iterator[Any], name: str) -> Iterator[dict[str, Any]]:
    for each in documents:
        if each is None:
            continue
        if not isinstance(each, dict) or not isinstance(each.get("kind"), str):
            raise NotReached(f"{name} contains something other than Kubernetes objects; {GIVE}")
        if each["kind"].endswith("List") and isinstance(each.get("items"), list):
            kind = each["kind"].removesuffix("List")
            yield from _objects(iter([{"kind": kind, **item} if kind else item for item in each["items"]]), name)
        elif isinstance(each.get("metadata"), dict) and isinstance(each["metadata"].get("name"), str):
            yield each


def _completed(manifest: dict[str, Any]) -> dict[str, Any]:
    """Add the namespace that the API server would add."""
    if manifest["kind"] in ("Pod", "Event", "Lease"):
        manifest["metadata"].setdefault("namespace", "default")
    return manifest
