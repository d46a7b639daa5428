"""Detects watchers that have stopped working: every object in the cluster must have been reported."""

from collections.abc import Mapping

Key = tuple[str, str]  # the kind and the name of an object


class WatchLag:
    """Compares the versions of objects that watchers reported with existing ones."""

    def __init__(self) -> None:
        self._reported: dict[Key, str] = {}
        self._missed: dict[Key, tuple[str, float]] = {}

    def reported(self, key: Key, version: str) -> None:
        """Record what a watcher reported."""
        self._reported[key] = version

    def seen(self, versions: Mapping[Key, str], now: float) -> None:
        """Record what exists."""
        self._reported = {key: version for key, version in self._reported.items() if key in versions}
        missed = {key: version for key, version in versions.items() if not self._has_report(key, version)}
        # An object counts as missed from the first unreported version on.
        self._missed = {key: (version, self._since(key, now)) for key, version in missed.items()}

    def seconds(self, now: float) -> float:
        """Return how long an unreported version has existed."""
        missed = [since for key, (version, since) in self._missed.items() if not self._has_report(key, version)]
        return now - min(missed) if missed else 0.0

    def _since(self, key: Key, now: float) -> float:
        return self._missed[key][1] if key in self._missed else now

    def _has_report(self, key: Key, version: str) -> bool:
        reported = self._reported.get(key, "")
        # A report of a later version includes this one.
        return reported == version or (reported.isdecimal() and version.isdecimal() and int(reported) >= int(version))
