"""Generated shapes: combinations of existing ones, of which the most expensive are kept and grow."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from time import monotonic

from hostile.pod_shapes import ALL_FEATURES, hostile_pod
from hostile.shapes import Shape, all_shapes, nothing
from hostile.trial import Measurement
from hostile.verdict import cost
from pilotage.testing import Manifest

KEPT = 8  # shapes that the next ones grow from
MOST_COPIES = 64
MOST_PARTS = 5  # features of one pod
FIRST = 8  # how many of a feature a growth begins with, as a part of what its shape has: an eighth

Measure = Callable[[Shape, int], Measurement]


@dataclass(frozen=True)
class Growth:
    """A number of pods with several features, on a node or pending, and objects of other shapes."""

    features: tuple[tuple[str, int], ...]
    copies: int = 1
    is_placed: bool = False
    beside: str = ""  # another shape of the corpus

    def shape(self) -> Shape:
        """Return it as a shape that can be tried."""
        other = all_shapes().get(self.beside)
        return Shape(
            str(self),
            self.copies,
            self._make,
            nothing if other is None else other.setting,
            () if other is None else other.plugins,
        )

    def __str__(self) -> str:
        parts = " + ".join(f"{size:,} {name}" for name, size in self.features)
        what = f"{self.copies} {'placed ' if self.is_placed else ''}pods: {parts}"
        return f"{what}, beside {self.beside!r}" if self.beside else what

    def _make(self, size: int, random: Random) -> list[Manifest]:
        chosen = tuple((ALL_FEATURES[name][0], count) for name, count in self.features)
        node = "node-0" if self.is_placed else ""
        pods = [hostile_pod(f"grown-{i}", chosen, random, node) for i in range(size)]
        other = all_shapes().get(self.beside)
        return pods if other is None else [*other.make(max(other.size // FIRST, 1), random), *pods]


def grow(seconds: float, seed: int, measure: Measure) -> Iterator[Measurement]:
    """Try new shapes for some time, and yield the cost of each."""
    random, end = Random(seed), monotonic() + seconds  # noqa: S311 - no secret
    best: list[tuple[float, Growth]] = []
    tried: set[Growth] = set()
    while monotonic() < end:
        parent = random.choice(best)[1] if best and random.random() < 0.8 else seedling(random)
        child = changed(parent, random)
        if child in tried:
            continue
        tried.add(child)
        found = measure(child.shape(), child.copies)
        best = sorted([*best, (cost(found), child)], key=lambda entry: -entry[0])[:KEPT]
        yield found


def seedling(random: Random) -> Growth:
    """Return a small shape of one feature."""
    name, (_, size) = random.choice(list(ALL_FEATURES.items()))
    return Growth(((name, max(size // FIRST, 1)),), is_placed=random.random() < 0.3)


def changed(growth: Growth, random: Random) -> Growth:
    """Return a shape that differs in one way."""
    kinds = [_larger, _larger, _with_another, _with_another, _more, _placed, _beside, _smaller]
    return random.choice(kinds)(growth, random)


def _scaled(growth: Growth, random: Random, by: float) -> Growth:
    place = random.randrange(len(growth.features))
    name, size = growth.features[place]
    sizes = list(growth.features)
    sizes[place] = name, max(int(size * by), 1)
    return replace(growth, features=tuple(sizes))


def _larger(growth: Growth, random: Random) -> Growth:
    return _scaled(growth, random, 4.0)


def _smaller(growth: Growth, random: Random) -> Growth:
    return _scaled(growth, random, 0.25)


def _with_another(growth: Growth, random: Random) -> Growth:
    (new,) = seedling(random).features
    kept = tuple(each for each in growth.features if each[0] != new[0])
    return replace(growth, features=(*kept[-(MOST_PARTS - 1) :], new))


def _more(growth: Growth, random: Random) -> Growth:
    copies = min(growth.copies * 4, MOST_COPIES)
    return replace(growth, copies=copies)


def _placed(growth: Growth, random: Random) -> Growth:
    return replace(growth, is_placed=not growth.is_placed)


def _beside(growth: Growth, random: Random) -> Growth:
    return replace(growth, beside=random.choice(["", *(name for name in all_shapes() if "pod:" not in name)]))
