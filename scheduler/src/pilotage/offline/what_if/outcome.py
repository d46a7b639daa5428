"""The outcome of a play, in the form of an answer."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, TypeVar

from pilotage.framework.api.remedies import Remedy
from pilotage.model.pod import Pod
from pilotage.offline.what_if.answer import (
    Eviction,
    Other,
    Others,
    Placement,
    Pods,
    Row,
    Shape,
    UseChange,
    Verdict,
    Waiting,
    WhatIfAnswer,
)
from pilotage.offline.what_if.departures import Departure
from pilotage.offline.what_if.owners import owner_of
from pilotage.offline.what_if.pace import Pace
from pilotage.offline.what_if.play import Play, Steps
from pilotage.offline.what_if.use import use_of
from pilotage.offline.what_if.wording import stopped_by, where
from pilotage.scheduling.remedies import Remedies, gate_of, siblings_of

Item = TypeVar("Item")

MOST_ROWS, MOST_GROUPS, MOST_REASONS = 500, 500, 20  # that an answer lists; the rest is counted
MOST_REMEDIES = 3  # groups of waiting pods for which remedies are looked for


@dataclass(frozen=True)
class Fate:
    """One pod that the question is about, and its outcome."""

    key: str
    owner: str
    node: str  # "": it waits
    reason: str = ""

    @property
    def namespace(self) -> str:
        """Return its namespace."""
        return self.key.partition("/")[0]


@dataclass
class Group:
    """The pods of one owner."""

    namespace: str
    asked: int = 0
    nodes: Counter[str] = field(default_factory=Counter)  # where they go
    reasons: Counter[str] = field(default_factory=Counter)  # why others wait
    examples: dict[str, str] = field(default_factory=dict)  # one pod for each reason


class Told:
    """A play that is over."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.groups: dict[tuple[str, str], Group] = {}  # by owner and namespace
        self.rows: list[Row] = []
        self.pods = Pods()
        self._asked: set[str] = set()

    @property
    def placed_new(self) -> int:
        """Return how many new pods have a node."""
        new = self.new_owners()
        return sum(group.nodes.total() for (owner, _), group in self.groups.items() if owner in new)

    def new_owners(self) -> set[str]:
        """Return the owners of new pods."""
        return {kind.title for added in self.play.added for kind in added.new.kinds}

    def look(self, pace: Pace) -> Steps:
        """Go through all pods that the question is about."""
        play, placed = self.play, 0
        for fate in chain(_of_new_pods(play), _of_moved(play)):
            self._asked.add(fate.key)
            group = self.groups.setdefault((fate.owner, fate.namespace), Group(fate.namespace))
            group.asked += 1
            if fate.node:
                placed += 1
                group.nodes[fate.node] += 1
                if len(self.rows) < MOST_ROWS:
                    self.rows.append(Row(fate.key, fate.node))
            else:
                group.reasons[fate.reason] += 1
                group.examples.setdefault(fate.reason, fate.key)
            yield from pace.turn()
        self.pods = Pods(len(self._asked), placed, len(self._asked) - placed)

    def answer(self, now: "Told | None", remedies: Mapping[str, Sequence[Any]]) -> Generator[None, None, WhatIfAnswer]:
        """Return all of it except how many copies fit; `now` is a play without the other changes."""
        request = self.play.request
        shapes = yield from gathered(self._shapes(now))
        evictions = yield from gathered(self._evictions())
        others = (yield from self._others()) if request.asks("others") else None
        return WhatIfAnswer(
            verdict=self._verdict(),
            pods=self.pods,
            shapes=shapes,
            placements=(yield from gathered(self._placements())) if request.asks("placements") else (),
            rows=self.rows if request.asks("placements") else (),
            more_rows=self.pods.placed - len(self.rows),
            waiting=(yield from gathered(self._waiting(remedies))),
            evictions=evictions[:MOST_ROWS] if request.asks("evictions") else (),
            more_evictions=max(0, len(evictions) - MOST_ROWS),
            others=others,
            use=(yield from self._use()),
        )

    def remedies(self, pace: Pace) -> Generator[None, None, dict[str, Sequence[Any]]]:
        """Look for what would place one pod of each group that waits; returned by pod."""
        found: dict[str, Sequence[Any]] = {}
        for group in self.groups.values():
            for example in group.examples.values():
                if len(found) < MOST_REMEDIES:
                    found[example] = yield from self._remedies_for(example, pace)
        return found

    def _remedies_for(self, key: str, pace: Pace) -> Generator[None, None, Sequence[Remedy]]:
        simulation = self.play.simulation
        queued = simulation.queue.find(key)
        if queued is None:
            return ()
        pod = queued.pod
        gang = siblings_of(simulation.queue, simulation.engines[pod.scheduler_name], pod, pod)
        steps = simulation.search(pod, gang, gate_of(queued))
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: Remedies = end.value
                return found.remedies
            yield from pace.turn()

    def _verdict(self) -> Verdict:
        departures = self.play.departures
        if not (self.pods.waiting or departures.blocked or departures.lost_by_changes):
            return "fits"
        return "partly" if self.pods.placed else "no"

    def _shapes(self, now: "Told | None") -> Iterator[Shape]:
        new = self.new_owners()
        for (owner, namespace), group in self.groups.items():
            before = None if now is None or owner not in new else now.groups[owner, namespace]
            stopped = next(iter(group.reasons), "") or next(iter(before.reasons if before else ()), "")
            yield Shape(
                owner,
                namespace,
                group.asked,
                group.nodes.total(),
                None if before is None else before.nodes.total(),
                stopped_by(stopped) if stopped else "",
                where(group.nodes),
            )

    def _placements(self) -> Iterator[Placement]:
        rows = (
            Placement(owner, namespace, node, count)
            for (owner, namespace), group in self.groups.items()
            for node, count in group.nodes.most_common(MOST_GROUPS)
        )
        return islice(rows, MOST_GROUPS)

    def _waiting(self, remedies: Mapping[str, Sequence[Any]]) -> Iterator[Waiting]:
        for (owner, namespace), group in self.groups.items():
            for reason, count in group.reasons.most_common(MOST_REASONS):
                example = group.examples[reason]
                yield Waiting(owner, namespace, count, reason, example, remedies.get(example, ()))

    def _evictions(self) -> Iterator[Eviction]:
        departures = self.play.departures
        lost = {id(each) for each in departures.lost}
        for each in departures.blocked:
            yield Eviction(each.pod.key, each.by, each.overdrawn, blocked=True)
        for each in departures.gone:
            budget = each.overdrawn or ", ".join(each.budgets)
            yield Eviction(each.pod.key, each.by, budget, violated=bool(each.overdrawn), lost=id(each) in lost)

    def _others(self) -> Generator[None, None, Others]:
        placed = yield from gathered(self._placed_besides())
        displaced = yield from gathered(_displaced(self.play, self.play.departures.displaced.values()))
        found = [each for each in placed if each is not None]
        return Others(found[:MOST_ROWS], displaced[:MOST_ROWS], len(found), len(displaced))

    def _placed_besides(self) -> Iterator[Other | None]:
        """Yield each pod that waited before and has a node because of the changes; None for every other one."""
        play = self.play
        for key in play.waited:
            result = play.simulation.results.find(key)
            has_it_by_changes = result is not None and result.node and key not in play.before and key not in self._asked
            yield Other(key, result.node or "") if result is not None and has_it_by_changes else None

    def _use(self) -> Generator[None, None, dict[str, UseChange]]:
        before = self.play.use_before
        after = yield from use_of(self.play.simulation.cache)
        return {name: UseChange(before[name], after[name]) for name in after if name in before}


def gathered(rows: Iterable[Item]) -> Generator[None, None, list[Item]]:
    """Return rows as a list, with a turn for others after each."""
    found = []
    for row in rows:
        found.append(row)
        yield
    return found


def _displaced(play: Play, departures: Iterable[Departure]) -> Iterator[Other]:
    for each in departures:
        result = play.simulation.results.find(each.pod.key)
        if result is None:
            yield Other(each.pod.key, "", _of_another_scheduler(each.pod))
        else:
            yield Other(each.pod.key, result.node or "", result.message)


def _of_new_pods(play: Play) -> Iterator[Fate]:
    for added in play.added:
        for key, owner in added.titles.items():
            result = play.simulation.results.find(key)
            if result is None:
                yield Fate(key, owner, "", "no decision was made about it")
            else:
                yield Fate(key, owner, result.node or "", result.message)


def _of_moved(play: Play) -> Iterator[Fate]:
    for key, departure in play.departures.moved.items():
        owner, result = owner_of(departure.pod), play.simulation.results.find(key)
        if result is None:
            yield Fate(key, owner, "", _of_another_scheduler(departure.pod))
        else:
            yield Fate(key, owner, result.node or "", result.message)


def _of_another_scheduler(pod: Pod) -> str:
    return f"its scheduler is {pod.scheduler_name}, which is not part of this what-if"
