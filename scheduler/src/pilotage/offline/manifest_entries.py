"""The single objects in documents, each with its position."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pilotage.config.documents import Document, Progress, Unreadable
from pilotage.kinds.every import KNOWN, KindTable
from pilotage.kinds.kube_object import ApiKind
from pilotage.offline import manifest_files
from pilotage.scheduler_profiles.resource import GROUP
from pilotage.scheduler_profiles.resource import KIND as PROFILE

# A Pod or Node of another group is a typo; other kinds, such as Service, exist in other groups.
UNMISTAKABLE = ("Pod", "Node")


class Place(NamedTuple):
    """The position of an object in the input."""

    source: str
    document: int
    item: int | None = None  # of a list

    def __str__(self) -> str:
        place = f"{self.source}, document {self.document}"
        return place if self.item is None else f"{place}, items[{self.item}]"


class WrittenProfile(NamedTuple):
    """A SchedulerProfile as written, and its position."""

    manifest: dict[str, Any]
    place: Place


@dataclass
class Entry:
    """One object as written."""

    manifest: dict[str, Any]
    shapes: tuple[type[Any], ...]  # the classes that it is decoded to; several if several plugins declare its kind
    api: ApiKind
    place: Place

    @property
    def kind(self) -> type[Any]:
        """Return the first class that it is decoded to."""
        return self.shapes[0]

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata, with values of any type."""
        found = self.manifest.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def title(self) -> str:
        """Return its name for messages: Pod default/web-1."""
        kind, name = self.manifest["kind"], self.metadata.get("name") or self.metadata.get("generateName", "")
        space = "" if self.api.scope == "Cluster" else f"{self.metadata.get('namespace') or 'default'}/"
        return f"{kind} {space}{name}"

    def __str__(self) -> str:
        return f"{self.place} ({self.title})"


@dataclass
class Found:
    """The objects found so far, and the errors in them."""

    kinds: KindTable = KNOWN
    entries: list[Entry] = field(default_factory=list)
    profiles: list[WrittenProfile] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)  # objects of ignored kinds
    problems: list[str] = field(default_factory=list)


def find_entries(names: Iterable[str], progress: Progress | None = None, kinds: KindTable = KNOWN) -> Found:
    """Read files, folders and standard input."""
    found = Found(kinds)
    take(documents_of(names, found.problems, progress), found)
    return found


def take(documents: Iterable[Document], found: Found) -> None:
    """Add the objects of documents."""
    for document in documents:
        for manifest, place in objects_in(document):
            _sort(manifest, place, found)


def documents_of(names: Iterable[str], problems: list[str], progress: Progress | None = None) -> Iterator[Document]:
    """Yield the documents of files, folders and standard input; errors are added to `problems`."""
    seen: set[Path] = set()
    for name in names:
        try:
            for file in manifest_files.find(name, seen):
                yield from _read(file, problems, progress)
        except manifest_files.NoSuchInput as error:
            problems.append(str(error))


def _read(file: str, problems: list[str], progress: Progress | None) -> Iterator[Document]:
    try:
        yield from manifest_files.read(file, progress)
    except Unreadable as error:
        problems.append(f"{manifest_files.place_of(error)}: {error.problem}")
    except OSError as error:
        problems.append(f"{file}: {error.strerror or error}")


def objects_in(document: Document) -> Iterator[tuple[Any, Place]]:
    """Yield the objects of a document, which may be a list of them."""
    value, place = document.value, Place(document.source, document.number)
    if not isinstance(value, dict):
        if value is not None:
            yield value, place
        return
    kind, items = str(value.get("kind", "")), value.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        yield value, place
        return
    # The items of a list omit fields that the list itself has.
    shared = {"kind": kind.removesuffix("List"), "apiVersion": value.get("apiVersion")}
    for index, item in enumerate(items):
        yield {**shared, **item} if isinstance(item, dict) else item, Place(document.source, document.number, index)


def _sort(manifest: Any, place: Place, found: Found) -> None:
    """Keep an object, count an ignored one, or add an error."""
    if not isinstance(manifest, dict):
        shown = "a list" if isinstance(manifest, list) else repr(manifest)[:40]
        found.problems.append(f"{place}: an object is a map with apiVersion, kind and metadata, not {shown}")
        return
    missing = [key for key in ("apiVersion", "kind") if not manifest.get(key)]
    found.problems += [f"{place}: {key}: Required value" for key in missing]
    if missing:
        return
    shapes, name = found.kinds.shapes_of(manifest), str(manifest["kind"])
    group = str(manifest["apiVersion"]).rpartition("/")[0]
    if shapes:
        found.entries.append(Entry(manifest, shapes, found.kinds.api(shapes[0]), place))
    elif name in UNMISTAKABLE:
        found.problems.append(f'{place} ({name}): apiVersion: this must be "v1", not "{manifest["apiVersion"]}"')
    elif (group, name) == (GROUP, PROFILE):
        found.profiles.append(WrittenProfile(manifest, place))
    elif name == "KubeSchedulerConfiguration":
        found.problems.append(f"{place} ({name}): a configuration is not part of the cluster; pass it with --config")
    else:
        found.left_out[f"{name}.{group}" if name in found.kinds.names else name] += 1
