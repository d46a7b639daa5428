"""Chance, and the small vocabularies that make generated things meet each other often."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from oracle.scenario import Manifest

T = TypeVar("T")

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"

NODE_LABELS = {
    ZONE: ("a", "b", "c"),
    REGION: ("r1", "r2"),
    "rack": ("1", "2", "3", "4"),
    "disk": ("ssd", "hdd", "nvme", ""),
    "gen": ("07", "3", "10", "x", ""),
}
POD_LABELS = {"app": ("web", "db", "api"), "version": ("v1", "v2"), "tier": ("front", "back", "")}
TOPOLOGY_KEYS = (ZONE, ZONE, HOSTNAME, "rack", REGION, "disk")
TEAMS = ("default", "default", "default", "blue", "green", "bare")
GPU = "example.com/gpu"


class Draw:
    """One seed's chance; the same seed draws the same."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = Random(seed)  # noqa: S311 # it must repeat itself, not keep a secret

    def chance(self, probability: float) -> bool:
        """True so often."""
        return self._random.random() < probability

    def number(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return self._random.randint(least, most)

    def pick(self, items: Sequence[T]) -> T:
        """One of them."""
        return self._random.choice(items)

    def some(self, items: Sequence[T], least: int = 0, most: int | None = None) -> list[T]:
        """Different ones, in any order."""
        return self._random.sample(items, min(self.number(least, len(items) if most is None else most), len(items)))

    def labels(self, vocabulary: dict[str, tuple[str, ...]], probability: float = 0.7) -> dict[str, str]:
        """Labels from a vocabulary, each present so often."""
        return {key: self.pick(values) for key, values in vocabulary.items() if self.chance(probability)}

    def pod_selector(self) -> Manifest | None:
        """A label selector for pods: mostly plain, sometimes nothing, everything, or operators."""
        kind = self.number(1, 10)
        if kind == 1:
            return None
        if kind == 2:
            return {}
        key = self.pick(("app", "app", "version", "tier"))
        if kind <= 7:
            return {"matchLabels": {key: self.pick(POD_LABELS[key])}}
        return {"matchExpressions": [self.requirement(key, POD_LABELS[key])]}

    def requirement(self, key: str, values: Sequence[str], more: Sequence[str] = ()) -> Manifest:
        """One requirement of a selector."""
        operator = self.pick(("In", "In", "NotIn", "Exists", "DoesNotExist", *more))
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        if operator in ("Gt", "Lt"):
            return {"key": key, "operator": operator, "values": [self.pick(("5", "7", "08"))]}
        return {"key": key, "operator": operator, "values": sorted(self.some(values, 1, 2))}

    def prioritize(self, there: list[Manifest], wanted: list[Manifest]) -> None:
        """Make some pods more important than others, and each start at its own time."""
        for minute, pod in enumerate(there):
            pod["spec"]["priority"] = self.pick((-10, 0, 0, 10))
            pod.setdefault("status", {"phase": "Running"})["startTime"] = f"2026-01-01T00:{minute:02}:00Z"
        for pod in wanted:
            pod["spec"]["priority"] = self.pick((0, 10, 1000))
