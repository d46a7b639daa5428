"""Makes a scenario as small as it can be while it still shows its difference."""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from oracle.scenario import Manifest, Scenario

T = TypeVar("T")
Predicate = Callable[[Scenario], bool]
Path = tuple[str | int, ...]
# Without these an object is not itself.
KEPT = frozenset(
    {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace"), ("spec",)}
)


class Shrinker:
    """Tries smaller and smaller scenarios until none is left to try, or the time is up."""

    def __init__(
        self, shows_difference: Predicate, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._shows_difference = shows_difference
        self._clock = clock
        self._deadline = clock() + seconds

    def smallest(self, scenario: Scenario) -> Scenario:
        """The smallest scenario found; the given one if nothing can be left out."""
        before = None
        while scenario != before and not self._is_late():
            before = scenario
            # 1. Whole pods and objects, many at a time: most have nothing to do with it.
            scenario = scenario.with_pods(self._fewer(scenario.pods, scenario.with_pods))
            scenario = scenario.with_objects(self._fewer(scenario.objects, scenario.with_objects))
            # 2. Fields of what is left.
            scenario = scenario.with_pods(self._plainer(scenario.pods, scenario.with_pods))
            scenario = scenario.with_objects(self._plainer(scenario.objects, scenario.with_objects))
        return scenario

    def _fewer(self, items: list[T], build: Callable[[list[T]], Scenario]) -> list[T]:
        """Leave out chunks, half of all at first, then smaller ones."""
        size = len(items)
        while size:
            start = 0
            while start < len(items):
                rest = items[:start] + items[start + size :]
                if self._holds(build(rest)):
                    items = rest
                else:
                    start += size
            size //= 2
        return items

    def _plainer(self, manifests: list[Manifest], build: Callable[[list[Manifest]], Scenario]) -> list[Manifest]:
        """Leave out fields and list entries, outer ones first."""
        for place in range(len(manifests)):
            for path in list(paths(manifests[place])):
                plainer = without(manifests[place], path)
                changed = [*manifests[:place], plainer, *manifests[place + 1 :]]
                if plainer != manifests[place] and self._holds(build(changed)):
                    manifests = changed
        return manifests

    def _holds(self, scenario: Scenario) -> bool:
        return not self._is_late() and self._shows_difference(scenario)

    def _is_late(self) -> bool:
        return self._clock() > self._deadline


def paths(value: Any, prefix: Path = ()) -> Iterator[Path]:
    """Everything in a manifest that can be left out; a container before its contents, later entries before earlier."""
    entries: Sequence[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(reversed(list(enumerate(value))))
    for key, inner in entries:
        path = (*prefix, key)
        if path not in KEPT:
            yield path
        yield from paths(inner, path)


def without(manifest: Manifest, path: Path) -> Manifest:
    """A copy that lacks what the path leads to; what is gone already cannot be missed."""
    made = copy.deepcopy(manifest)
    holder: Any = made
    try:
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
    except (KeyError, IndexError, TypeError):
        return manifest
    return made
