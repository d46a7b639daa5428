"""The manifests of a what-if with their places, and the profile that decides."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from pilotage.cli.command import BadInput
from pilotage.cli.what_if_flags import Question
from pilotage.cluster.credentials.access import context_namespace
from pilotage.offline.manifest_entries import Place, documents_of, objects_in
from pilotage.offline.manifests import BadManifests


class Written(NamedTuple):
    """A manifest, and its place in a file."""

    manifest: dict[str, Any]
    place: Place


def manifests_of(question: Question) -> list[Written]:
    """Return the manifests of -f; without a namespace they get that of -n or of the context."""
    if not question.files:
        return []
    asked = question.asked
    namespace = asked.namespace
    if not namespace and not asked.is_file:
        namespace = context_namespace(asked.way.kubeconfig, context=asked.way.context)
    found = [Written(_in_namespace(manifest, namespace), place) for manifest, place in _read_from(question.files)]
    if not found:
        raise BadInput(f"{', '.join(question.files)} contains no objects; give manifests, or the output of kubectl")
    return found


def _read_from(names: Iterable[str]) -> list[Written]:
    problems: list[str] = []
    found = []
    for document in documents_of(names, problems):
        for manifest, place in objects_in(document):
            if isinstance(manifest, dict) and manifest.get("kind"):
                found.append(Written(manifest, place))
            else:
                problems.append(f"{place}: an object is a map with apiVersion, kind and metadata")
    if problems:
        raise BadManifests(problems)
    return found


def _in_namespace(manifest: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata = manifest.get("metadata")
    if not namespace or not isinstance(metadata, dict) or metadata.get("namespace"):
        return manifest
    return {**manifest, "metadata": {**metadata, "namespace": namespace}}


def profile_of(question: Question) -> str | dict[str, Any] | None:
    """Return the profile that decides: a name, or the spec of a file."""
    named = question.profile
    if named is None or not (Path(named).is_file() or "/" in named or named.endswith((".yaml", ".yml", ".json"))):
        return named
    found = [manifest for manifest, _ in _read_from([named]) if manifest.get("kind") == "SchedulerProfile"]
    if len(found) != 1:
        raise BadInput(f"--profile {named}: the file must contain one SchedulerProfile, not {len(found)}")
    spec = dict(found[0].get("spec") or {})
    spec.setdefault("schedulerName", (found[0].get("metadata") or {}).get("name") or "what-if")
    return spec
