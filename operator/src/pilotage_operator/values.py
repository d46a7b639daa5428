"""Reads the profiles of the chart's values from the file that the chart writes."""

import logging
from pathlib import Path
from typing import Any

import yaml

from pilotage_operator.profiles.world import KeptProfile

log = logging.getLogger(__name__)

_LARGEST = 4 << 20


class Unreadable(Exception):
    """The file is not in the chart's format; the message says where."""


class ValuesFile:
    """A file that is reloaded when it changes; invalid content changes nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._read_at: tuple[int, int] | None = None
        self._profiles: tuple[KeptProfile, ...] | None = None

    def profiles(self) -> tuple[KeptProfile, ...] | None:
        """Return the profiles; None if there is no list."""
        if self._path is None:
            return None
        try:
            found = self._path.stat()
            if (state := (found.st_mtime_ns, found.st_size)) != self._read_at:
                self._profiles = profiles_in(self._path.read_bytes())
                self._read_at = state
        except (OSError, Unreadable) as error:
            log.warning("the values cannot be read, so the profiles are left unchanged: %s: %s", self._path, error)
        return self._profiles


def profiles_in(text: bytes) -> tuple[KeptProfile, ...]:
    """Parse a list of {name, spec}."""
    if len(text) > _LARGEST:
        raise Unreadable(f"it is larger than {_LARGEST} bytes")
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise Unreadable(f"it is not YAML: {error}") from error
    if found is None:
        return ()
    if not isinstance(found, list):
        raise Unreadable("it is not a list of {name, spec}")
    return tuple(_profile(place, entry) for place, entry in enumerate(found))


def _profile(place: int, entry: Any) -> KeptProfile:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise Unreadable(f"[{place}]: it has no name; write {{name: ..., spec: {{...}}}}")
    spec = entry.get("spec") or {}
    if not isinstance(spec, dict):
        raise Unreadable(f"[{place}].spec: it is not a map")
    return KeptProfile(entry["name"], spec)
