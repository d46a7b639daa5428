"""Answers a what-if: plays it in slices, once without and once with the changes, and compares the two."""

from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from time import monotonic
from typing import TypeVar

import msgspec

from pilotage.offline.simulation import Simulation
from pilotage.offline.what_if.answer import Fill, WhatIfAnswer
from pilotage.offline.what_if.filling import filled
from pilotage.offline.what_if.new_nodes import title_of
from pilotage.offline.what_if.outcome import Told
from pilotage.offline.what_if.pace import OutOfTime, Pace
from pilotage.offline.what_if.play import Play, adds_pods, deciders
from pilotage.offline.what_if.request import Change, WhatIf, WrongRequest
from pilotage.offline.what_if.summary import assumptions, summary
from pilotage.offline.what_if.world import World

Value = TypeVar("Value")

_WORDS = {"removeNodes": "without"}
NOW, ALL = "now", "all"


def run(
    request: WhatIf, world: World, *, source: str = "", revision: int = 0, clock: Callable[[], float] = monotonic
) -> Generator[None, None, WhatIfAnswer]:
    """Answer a question in a copy of the cluster, slice by slice; WrongRequest if it refers to something missing."""
    pace = Pace(request.limits.seconds, clock=clock)
    try:
        answer = yield from _Question(request, world, pace).answer()
    except OutOfTime:
        text = f"The time limit of {request.limits.seconds:g} s was reached before all pods were decided"
        answer = WhatIfAnswer(summary=f"{text}; ask about fewer, or set a higher limits.seconds.")
    at = datetime.fromtimestamp(world.moment.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return msgspec.structs.replace(
        answer,
        at=at,
        revision=revision,
        source=source,
        profile_hash=world.scheduling.profile_hash,
        seconds=round(pace.seconds, 3),
    )


def exhaust(steps: Generator[None, None, Value]) -> Value:
    """Run all slices at once, and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: Value = end.value
            return value


class _Question:
    """A request, the copy of the cluster for it, and its time limit."""

    def __init__(self, request: WhatIf, world: World, pace: Pace) -> None:
        self._request, self._world, self._pace = request, world, pace
        self._changes = [change for change in request.changes if change.use_profile is None]
        self._new = [change for change in self._changes if adds_pods(change)]
        self._others = [change for change in self._changes if not adds_pods(change)]

    def answer(self) -> Generator[None, None, WhatIfAnswer]:
        """Answer, step by step."""
        if self._request.asks("fill") and not self._new:
            raise WrongRequest("fill: name pods with add or addPods")
        now: Told | None = None
        if self._new and self._others and self._request.asks("placements"):
            now = yield from self._as_things_are()  # 1. without the changes
        answer, told = yield from self._with_changes(now)  # 2. with all changes
        if self._request.asks("fill"):  # 3. how many more
            capacity = yield from self._capacity()
            answer = msgspec.structs.replace(answer, fill=capacity[-1], capacity=capacity)
        sentences = summary(answer, None if now is None else now.placed_new, told.play)
        return msgspec.structs.replace(answer, summary=sentences, assumptions=list(assumptions(told.play)))

    def _as_things_are(self) -> Generator[None, None, Told]:
        play = yield from self._begun()
        try:
            return (yield from self._told(play, self._new))
        finally:
            play.simulation.close()

    def _with_changes(self, now: Told | None) -> Generator[None, None, tuple[WhatIfAnswer, Told]]:
        play = yield from self._begun()
        try:
            told = yield from self._told(play, self._changes)
            remedies = (yield from told.remedies(self._pace)) if self._request.asks("remedies") else {}
            answer = yield from self._pace.finish(told.answer(now, remedies))
            return answer, told
        finally:
            play.simulation.close()

    def _told(self, play: Play, changes: Sequence[Change]) -> Generator[None, None, Told]:
        yield from play.go(changes)
        told = Told(play)
        yield from told.look(self._pace)
        return told

    def _begun(self, *, evicting: bool = True) -> Generator[None, None, Play]:
        yield from self._pace.through(self._world.steps())
        yield from self._pace.rest()
        specs = deciders(self._request).specs
        simulation: Simulation = self._world.scheduling.simulation(self._world.cache, specs, evicting)
        yield from self._pace.rest()
        yield from self._pace.through(self._world.cache.catch_up())
        return Play(self._world, simulation, self._request, self._pace)

    def _capacity(self) -> Generator[None, None, list[Fill]]:
        """Return how many copies fit now, with each change alone, and with all of them, which is the last."""
        found = []
        for name, changes in self._variants():
            play = yield from self._begun(evicting=False)
            try:
                found.append((yield from filled(name, play, changes, self._new, self._request.limits.copies)))
            finally:
                play.simulation.close()
        return found

    def _variants(self) -> Iterator[tuple[str, Sequence[Change]]]:
        yield NOW, ()
        named = [(title(change), [change]) for change in self._others]
        yield from named if len(named) > 1 else ()
        if named:
            yield named[0][0] if len(named) == 1 else ALL, self._others


def title(change: Change) -> str:
    """Return a change as the title of a column: +2 gpu-1."""
    name, what = change.named
    if change.add_nodes is not None:
        return title_of(change.add_nodes)
    if change.quota is not None:
        return f"quota {change.quota.namespace}"
    nodes = [*getattr(what, "nodes", ()), *filter(None, [getattr(what, "selector", "")])]
    return " ".join(chain([_WORDS.get(name, name)], nodes[:2], ["..."] if len(nodes) > 2 else []))
