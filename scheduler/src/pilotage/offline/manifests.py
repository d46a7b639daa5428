"""Converts Kubernetes manifests and dumps to the objects that scheduling uses, or reports all errors in them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from pilotage.config.documents import Progress
from pilotage.kinds.decoding import Undecodable, decode, without_nulls
from pilotage.kinds.devices import GROUP as DEVICES
from pilotage.kinds.devices import ResourceClaim, ResourceClaimTemplate, ResourceSlice
from pilotage.kinds.every import KNOWN, KindTable
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.storage import PersistentVolumeClaim, StorageClass
from pilotage.kinds.workloads import Namespace, PriorityClass
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node, NodeObject
from pilotage.model.pod import Pod, PodObject
from pilotage.offline.admission import (
    NAMESPACE_LABEL,
    Admission,
    Refused,
    complete_namespace,
    complete_node,
    is_stored,
)
from pilotage.offline.device_admission import complete_claim_spec, complete_slice
from pilotage.offline.manifest_entries import Entry, Found, WrittenProfile, find_entries
from pilotage.offline.manifest_faults import Fault, name_faults, quantity_faults, type_faults

Kind = TypeVar("Kind")

MOST_PROBLEMS = 20


class BadManifests(Exception):
    """Invalid input; the message lists all errors, or the first twenty."""

    def __init__(self, problems: list[str]) -> None:
        shown, more = problems[:MOST_PROBLEMS], len(problems[MOST_PROBLEMS:])
        super().__init__("\n".join([*shown, *([f"... and {more} more"] if more else [])]))
        self.problems = problems


@dataclass
class Manifests:
    """The objects of the input in its order, and counts of those left out."""

    objects: list[Pod | Node | KubeObject] = field(default_factory=list)
    profiles: list[WrittenProfile] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # objects of ignored kinds
    finished: int = 0  # finished pods
    leaving: int = 0  # terminating pods without a node

    @property
    def pods(self) -> list[Pod]:
        """Return all pods."""
        return [found for found in self.objects if isinstance(found, Pod)]

    @property
    def nodes(self) -> list[Node]:
        """Return all nodes."""
        return [found for found in self.objects if isinstance(found, Node)]


def read_manifests(names: Iterable[str], progress: Progress | None = None, kinds: KindTable = KNOWN) -> Manifests:
    """Read files, folders and standard input; BadManifests lists all errors."""
    return completed(find_entries(names, progress, kinds))  # 1. read


def completed(found: Found, there: Iterable[KubeObject] = ()) -> Manifests:
    """Complete objects like an API server that already has some objects; BadManifests lists all errors."""
    work, there = _Work(found.problems), list(there)
    entries = [entry for entry in found.entries if work.is_sound(entry) and work.is_first(entry)]  # 2. no duplicates
    admission = Admission(
        [*_instances(there, PriorityClass), *_of_kind(entries, PriorityClass)],
        [*_instances(there, StorageClass), *_of_kind(entries, StorageClass)],
    )
    for entry in entries:  # 3. set defaults, like an API server
        work.take(entry, admission)
    if work.problems:
        raise BadManifests(work.problems)
    work.result.profiles, work.result.left_out = found.profiles, found.left_out
    work.result.objects += _other_namespaces(work.result.objects)
    return work.result


def _instances(objects: Iterable[KubeObject], kind: type[Kind]) -> Iterator[Kind]:
    return (each for each in objects if isinstance(each, kind))


def _of_kind(entries: Iterable[Entry], kind: type[Kind]) -> Iterator[Kind]:
    return (msgspec.convert(entry.manifest, kind) for entry in entries if entry.kind is kind)


class _Work:
    """The objects so far, and the errors in others."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        self.result = Manifests()
        self.names: dict[tuple[type[Any], str, str], Entry] = {}
        self.uids: dict[str, Entry] = {}
        self.generated: Counter[str] = Counter()

    def is_sound(self, entry: Entry) -> bool:
        """Return whether all values of an object have valid types; also names it."""
        faults = list(_faults(entry))
        if not faults:
            self.name(entry)
            faults = list(name_faults(entry.metadata.get("name", ""), ("metadata", "name")))
        self.problems += [f"{entry}: {path}: {problem}" for path, problem in faults]
        return not faults

    def name(self, entry: Entry) -> None:
        """Set what every object has: a name, a namespace if its kind is namespaced, a UID."""
        metadata = entry.metadata
        prefix = metadata.get("generateName")
        if prefix and not metadata.get("name"):
            self.generated[prefix] += 1
            metadata["name"] = f"{prefix}{self.generated[prefix]}"
        if entry.api.scope == "Cluster":
            metadata.pop("namespace", None)
        elif not metadata.get("namespace"):
            metadata["namespace"] = "default"

    def is_first(self, entry: Entry) -> bool:
        """Return whether no earlier object has the same name or UID; a duplicate is an error."""
        metadata = entry.metadata
        name, uid = (entry.kind, metadata.get("namespace", ""), metadata["name"]), metadata.get("uid")
        if (other := self.names.setdefault(name, entry)) is not entry:
            self.problems.append(f"{entry}: the same object is in {other.place} already; keep one of the two")
            return False
        if uid and (other := self.uids.setdefault(f"{entry.kind.__name__}/{uid}", entry)) is not entry:
            self.problems.append(f"{entry}: metadata.uid: {other} has the same one; remove it from the copy")
            return False
        return True

    def take(self, entry: Entry, admission: Admission) -> None:
        """Complete an object and keep it."""
        try:
            _complete(entry, admission)
            found = [decode(entry.manifest, shape) for shape in entry.shapes]
        except Refused as error:
            self.problems.append(f"{entry}: {error}")
        except Undecodable as error:
            told = [f"{entry}: {path}: {problem}" for path, problem in quantity_faults(entry.manifest)]
            self.problems += told or [f"{entry}: {error}"]
        else:
            for each in found:
                self.keep(each)

    def keep(self, found: Pod | Node | KubeObject) -> None:
        if isinstance(found, Pod) and found.is_finished:
            self.result.finished += 1
        elif isinstance(found, Pod) and found.is_terminating and not found.node_name:
            self.result.leaving += 1
        else:
            self.result.objects.append(found)


def _faults(entry: Entry) -> Iterator[Fault]:
    """Yield every value of the wrong type and, unless from an API server, every invalid amount."""
    stored = is_stored(entry.manifest)
    if not stored:
        entry.manifest = without_nulls(entry.manifest)
    if not isinstance(entry.manifest.get("metadata"), dict):
        yield "metadata", "Required value: every object has a name"
        return
    for shape in entry.shapes:
        try:
            msgspec.convert(entry.manifest, shape)
        except msgspec.ValidationError:
            entry.manifest = without_nulls(entry.manifest)
            yield from type_faults(entry.manifest, shape)
    if not stored:
        yield from quantity_faults(entry.manifest)


def _complete(entry: Entry, admission: Admission) -> None:
    manifest, stored = entry.manifest, is_stored(entry.manifest)
    if entry.kind is NodeObject:
        complete_node(manifest)
    elif entry.kind is Namespace:
        complete_namespace(manifest)
    elif entry.kind is PersistentVolumeClaim and not stored:
        admission.complete_claim(manifest)
    elif entry.kind is PodObject and not stored:
        admission.complete_pod(manifest)
    elif entry.api.group == DEVICES:
        _complete_device_kind(entry, stored=stored)
    if not stored:
        metadata = entry.metadata
        metadata["uid"] = "/".join(filter(None, (manifest["kind"], metadata.get("namespace"), metadata["name"])))


def _complete_device_kind(entry: Entry, *, stored: bool) -> None:
    manifest, version = entry.manifest, str(entry.manifest.get("apiVersion", ""))
    if entry.kind is ResourceSlice:
        complete_slice(manifest, version)
    elif entry.kind is ResourceClaim and not (stored and version.endswith("/v1")):
        complete_claim_spec(manifest.get("spec", {}), version)
    elif entry.kind is ResourceClaimTemplate:
        complete_claim_spec(manifest.get("spec", {}).get("spec", {}), version)


def _other_namespaces(objects: Iterable[Pod | Node | KubeObject]) -> list[Namespace]:
    """Return the namespaces of pods that are not in the input."""
    written = {found.metadata.name for found in objects if isinstance(found, Namespace)}
    used = {found.namespace for found in objects if isinstance(found, Pod)}
    return [Namespace(Metadata(name, labels={NAMESPACE_LABEL: name})) for name in sorted(used - written)]
