"""Finds configurations in documents: on their own, in ConfigMaps, in lists, and as values of a chart."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pilotage.config.documents import At, Document, Unreadable, documents
from pilotage.config.faults import Fault, InvalidConfiguration
from pilotage.config.json_text import json_documents, looks_like_json
from pilotage.config.strict_reading import read_section
from pilotage.config.types import KIND
from pilotage.conversion.chart_values import NoValues, are_values, configuration_of
from pilotage.conversion.notes import Notes
from pilotage.conversion.older_types import GROUP, OlderConfiguration, Version, version_of
from pilotage.conversion.other_kinds import said_about


@dataclass(frozen=True)
class Candidate:
    """A possible configuration, and its place."""

    value: Any
    document: Document
    at: At = ()  # the path to it

    def placed(self, fault: Fault) -> Fault:
        """Return a fault with its line."""
        spot = self.document.spot((*self.at, *fault.at))
        return replace(fault, line=spot.line, hint=fault.hint or (fault.fix(spot.word) if fault.fix else ""))


@dataclass(frozen=True)
class Input:
    """A configuration to convert."""

    version: Version
    config: OlderConfiguration
    notes: Notes


class NotConvertible(Exception):
    """An input that is not a valid configuration; the message says what it is."""

    def __init__(self, text: str, *, is_wrong: bool = False) -> None:
        super().__init__(text)
        self.is_wrong = is_wrong


def candidates(document: Document) -> Iterator[Candidate]:
    """Yield the possible configurations in a document; for a ConfigMap, those in its data."""
    for candidate in _objects(document):
        inner = list(_in_config_map(candidate))
        yield from inner or [candidate]


def _objects(document: Document) -> Iterator[Candidate]:
    value = document.value
    if isinstance(value, dict) and str(value.get("kind", "")).endswith("List") and isinstance(value.get("items"), list):
        # The items of a list omit fields that the list itself has.
        shared = {"kind": value["kind"].removesuffix("List"), "apiVersion": value.get("apiVersion")}
        for place, item in enumerate(value["items"]):
            yield Candidate({**shared, **item} if isinstance(item, dict) else item, document, ("items", place))
    elif value is not None:
        yield Candidate(value, document)


def _in_config_map(candidate: Candidate) -> Iterator[Candidate]:
    value, document = candidate.value, candidate.document
    data = value.get("data") if isinstance(value, dict) and value.get("kind") == "ConfigMap" else None
    for key, text in data.items() if isinstance(data, dict) else ():
        if isinstance(text, str) and KIND in text:
            for inner in _parsed(text, f"{document.source}, data[{key}]"):
                yield from _objects(inner)


def _parsed(text: str, source: str) -> list[Document]:
    data = text.encode(errors="surrogatepass")
    try:
        return list(json_documents(data, source) if looks_like_json(data) else documents(data, source))
    except Unreadable as error:
        raise NotConvertible(str(error), is_wrong=True) from None


def read(candidate: Candidate, several: bool) -> Input:
    """Parse a configuration; NotConvertible if it is something else, InvalidConfiguration if it has errors."""
    document, value = candidate.document, candidate.value
    source = f"{document.source}, document {document.number}" if several else document.source
    notes = Notes(source)
    if not isinstance(value, Mapping):
        raise NotConvertible(f"{source}: not a map, so not a scheduler configuration")
    if are_values(value):
        try:
            value = configuration_of(value, notes)
        except NoValues as error:
            raise NotConvertible(f"{source}: {error}", is_wrong=True) from None
    version = _version(value, source)
    config, faults = read_section(OlderConfiguration, value)
    placed = [candidate.placed(fault) for fault in faults]
    if config is None:
        raise InvalidConfiguration(document.source, placed)
    for fault in placed:
        notes.note(f"{fault.text} is left out{'; ' if fault.hint else ''}{fault.hint}")
    return Input(version, config, notes)


def _version(value: Mapping[str, Any], source: str) -> Version:
    kind, written = value.get("kind"), value.get("apiVersion")
    if kind != KIND:
        raise NotConvertible(f"{source}: {said_about(value)}")
    version = version_of(written)
    if version is None:
        known = ", ".join(map(str, Version))
        text = f"{KIND} {written} cannot be converted: use one of {known} of {GROUP}"
        raise NotConvertible(f"{source}: {text}", is_wrong=True)
    return version
