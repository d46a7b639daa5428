"""Whether the watchers still hear: what is seen in the cluster must have been heard of."""

from collections.abc import Mapping

Key = tuple[str, str]  # the kind and the name of an object


class WatchLag:
    """Compares the versions of objects that watchers told of with those that are there."""

    def __init__(self) -> None:
        self._heard: dict[Key, str] = {}
        self._missed: dict[Key, tuple[str, float]] = {}

    def heard(self, key: Key, version: str) -> None:
        """Note what a watcher told."""
        self._heard[key] = version

    def seen(self, versions: Mapping[Key, str], now: float) -> None:
        """Note what is there."""
        self._heard = {key: version for key, version in self._heard.items() if key in versions}
        missed = {key: version for key, version in versions.items() if not self._has_heard(key, version)}
        # Whoever was missed is so since the first version that was not heard.
        self._missed = {key: (version, self._since(key, now)) for key, version in missed.items()}

    def seconds(self, now: float) -> float:
        """Return for how long something has been there of which no watcher told."""
        missed = [since for key, (version, since) in self._missed.items() if not self._has_heard(key, version)]
        return now - min(missed) if missed else 0.0

    def _since(self, key: Key, now: float) -> float:
        return self._missed[key][1] if key in self._missed else now

    def _has_heard(self, key: Key, version: str) -> bool:
        heard = self._heard.get(key, "")
        # Whoever heard of a later version has heard of this one.
        return heard == version or (heard.isdecimal() and version.isdecimal() and int(heard) >= int(version))
