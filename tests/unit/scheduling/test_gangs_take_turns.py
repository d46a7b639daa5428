"""Gangs that come and go, in memory: none runs partly, and no whole one waits where it fits.

Every pod takes one core, so that what fits is a matter of counting.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from kit.live_core import LiveCore
from kit.tiers import examples
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.testing import make_pod

LARGEST = 6


@dataclass
class Turn:
    """A gang, and what has become of its pods."""

    name: str
    minimum: int
    pods: list[Pod]
    created: list[Pod] = field(default_factory=list)
    placed: set[str] = field(default_factory=set)
    is_over: bool = False

    @property
    def could_run(self) -> bool:
        """Tell whether enough of its pods are there, and none has a place."""
        return not self.placed and len(self.created) >= self.minimum


class Turns:
    """Plays gangs on a few nodes, and looks at them whenever the scheduler has nothing more to do."""

    def __init__(self, nodes: Sequence[int], shapes: Sequence[tuple[int, int]]) -> None:
        self.core = LiveCore(Coscheduling())
        self.gangs = [_gang(f"g{n}", size, min(size, minimum)) for n, (size, minimum) in enumerate(shapes)]
        self._room = sum(nodes)
        for number, cores in enumerate(nodes):
            self.core.add_node(f"n{number}", cpu=str(cores))

    async def create(self, gang: Turn) -> None:
        """Let the next pod of a gang appear, if there is one."""
        if len(gang.created) < len(gang.pods) and not gang.is_over:
            pod = gang.pods[len(gang.created)]
            gang.created.append(pod)
            self.core.create(pod)
            await self._look()

    async def end(self, gang: Turn) -> None:
        """Let a gang go that has run; each of its pods is a chance for others."""
        if gang.is_over or len(gang.placed) < gang.minimum:
            return
        gang.is_over = True
        for pod in gang.created:
            self.core.delete(pod)
            self._room += pod.name in gang.placed
            gang.placed.discard(pod.name)
            await self._look()

    async def _look(self) -> None:
        await self.core.settle()
        for name, node in self.core.api.binds:
            gang = next(each for each in self.gangs if each.name == name.partition("-")[0])
            pod = next(each for each in gang.pods if each.name == name)
            gang.placed.add(name)
            self._room -= 1
            self.core.change(pod, pod.on(node))
        self.core.api.binds.clear()
        await self.core.settle()
        assert self.core.api.binds == []
        assert self._room >= 0
        for gang in self.gangs:
            assert gang.is_over or not 0 < len(gang.placed) < gang.minimum, f"{gang.name} runs partly"
            assert gang.is_over or not gang.could_run or gang.minimum > self._room, f"{gang.name} fits and waits"


def _gang(name: str, size: int, minimum: int) -> Turn:
    labels = {NAME_LABEL: name, MIN_LABEL: str(minimum)}
    pods = [make_pod(f"{name}-{n}", uid=f"{name}-{n}", cpu=1, labels=labels) for n in range(size)]
    return Turn(name, minimum, pods)


Shapes = st.lists(st.tuples(st.integers(1, LARGEST), st.integers(1, LARGEST)), min_size=2, max_size=6)
Steps = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=40)


@examples(200)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), Shapes, Steps)
async def test_a_gang_that_fits_never_waits(
    nodes: list[int], shapes: list[tuple[int, int]], steps: list[tuple[bool, int]]
) -> None:
    turns = Turns(nodes, shapes)
    for comes, number in steps:
        gang = turns.gangs[number % len(turns.gangs)]
        await (turns.create(gang) if comes else turns.end(gang))
    for gang in turns.gangs:
        for _ in gang.pods:
            await turns.create(gang)
    for _ in turns.gangs:  # each end lets another one run, if it can at all
        for gang in turns.gangs:
            await turns.end(gang)
    room = sum(nodes)
    assert [gang.name for gang in turns.gangs if not gang.is_over and gang.minimum <= room] == []
