"""What came of a play, in the shape of an answer."""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pilotage.model.pod import Pod
from pilotage.offline.results import Result
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
from pilotage.offline.what_if.play import Play
from pilotage.offline.what_if.summary import assumptions, summary
from pilotage.offline.what_if.use import use_of
from pilotage.offline.what_if.wording import stopped_by, where

MOST_ROWS, MOST_GROUPS = 500, 500  # that an answer lists; the rest is counted
MOST_REMEDIES = 3  # groups of waiting pods for which remedies are looked for


@dataclass(frozen=True)
class Fate:
    """One pod that the question is about, and what became of it."""

    key: str
    owner: str
    node: str  # "": it waits
    reason: str = ""

    @property
    def namespace(self) -> str:
        """Return its namespace."""
        return self.key.partition("/")[0]


class Told:
    """A play that is over; `now` is the one without the other changes, if there was one."""

    def __init__(self, play: Play, now: "Told | None" = None) -> None:
        self._play, self._now = play, now
        results = play.results()
        self.fates = [*_of_new_pods(play, results), *_of_moved(play, results)]
        self._results = results

    def answer(self, remedies: Mapping[str, Sequence[object]]) -> WhatIfAnswer:
        """Return all of it but the sentences."""
        placed = [fate for fate in self.fates if fate.node]
        request = self._play.request
        rows = [Row(fate.key, fate.node) for fate in placed]
        evictions = list(self._evictions())
        pods = Pods(len(self.fates), len(placed), len(self.fates) - len(placed))
        return WhatIfAnswer(
            verdict=self._verdict(pods),
            pods=pods,
            shapes=list(self._shapes()),
            placements=_placements(placed) if request.asks("placements") else (),
            rows=rows[:MOST_ROWS] if request.asks("placements") else (),
            more_rows=max(0, len(rows) - MOST_ROWS),
            waiting=list(_waiting(self.fates, remedies)),
            evictions=evictions[:MOST_ROWS] if request.asks("evictions") else (),
            more_evictions=max(0, len(evictions) - MOST_ROWS),
            others=self._others() if request.asks("others") else None,
            use=self._use(),
        )

    def summarised(self, answer: WhatIfAnswer) -> WhatIfAnswer:
        """Return the answer with its sentences."""
        now = None if self._now is None else sum(bool(fate.node) for fate in self._now.fates)
        return msgspec.structs.replace(
            answer, summary=summary(answer, now, self._play), assumptions=list(assumptions(self._play))
        )

    def remedies(self, pace: Pace) -> Generator[None, None, dict[str, Sequence[object]]]:
        """Look for what would place the first pod of each group that waits; returns it by pod."""
        found: dict[str, Sequence[object]] = {}
        seen: set[tuple[str, str]] = set()
        for fate in self.fates:
            if not fate.node and (fate.owner, fate.reason) not in seen and len(found) < MOST_REMEDIES:
                seen.add((fate.owner, fate.reason))
                found[fate.key] = yield from self._remedies_for(fate, pace)
        return found

    def _remedies_for(self, fate: Fate, pace: Pace) -> Generator[None, None, Sequence[object]]:
        yield from pace.turn()
        return ()

    def _verdict(self, pods: Pods) -> Verdict:
        stuck = pods.waiting or self._play.departures.blocked
        if not stuck:
            return "fits"
        return "partly" if pods.placed else "no"

    def _shapes(self) -> Iterator[Shape]:
        now = None if self._now is None else Counter(fate.owner for fate in self._now.fates if fate.node)
        new = {title for added in self._play.added for title in added.titles.values()}
        for owner, fates in _by_owner(self.fates).items():
            nodes = Counter(fate.node for fate in fates if fate.node)
            waits = next((fate for fate in fates if not fate.node), None) or self._first_waiting_now(owner)
            yield Shape(
                owner,
                fates[0].namespace,
                len(fates),
                nodes.total(),
                now[owner] if now is not None and owner in new else None,
                "" if waits is None else stopped_by(waits.reason),
                where(nodes),
            )

    def _first_waiting_now(self, owner: str) -> Fate | None:
        fates = () if self._now is None else self._now.fates
        return next((fate for fate in fates if fate.owner == owner and not fate.node), None)

    def _evictions(self) -> Iterator[Eviction]:
        departures = self._play.departures
        lost = {id(each) for each in departures.lost}
        for each in departures.blocked:
            yield Eviction(each.pod.key, each.by, each.overdrawn, blocked=True)
        for each in departures.gone:
            budget = each.overdrawn or ", ".join(each.budgets)
            yield Eviction(each.pod.key, each.by, budget, violated=bool(each.overdrawn), lost=id(each) in lost)

    def _others(self) -> Others:
        play = self._play
        asked = {fate.key for fate in self.fates}
        placed = [
            Other(key, result.node)
            for key, result in self._results.items()
            if result.node and key in play.waited and key not in play.before and key not in asked
        ]
        displaced = [*self._displaced(play.departures.displaced.values())]
        return Others(placed[:MOST_ROWS], displaced[:MOST_ROWS], len(placed), len(displaced))

    def _displaced(self, departures: Iterable[Departure]) -> Iterator[Other]:
        for each in departures:
            result = self._results.get(each.pod.key)
            if result is None:
                yield Other(each.pod.key, "", _nobody_asked(each.pod))
            else:
                yield Other(each.pod.key, result.node or "", result.message)

    def _use(self) -> dict[str, UseChange]:
        before, after = self._play.use_before, use_of(self._play.simulation.cache)
        return {name: UseChange(before[name], after[name]) for name in after if name in before}


def _of_new_pods(play: Play, results: Mapping[str, Result]) -> Iterator[Fate]:
    for added in play.added:
        for key, owner in added.titles.items():
            result = results.get(key)
            if result is None:
                yield Fate(key, owner, "", "it was not decided in time")
            else:
                yield Fate(key, owner, result.node or "", result.message)


def _of_moved(play: Play, results: Mapping[str, Result]) -> Iterator[Fate]:
    for key, departure in play.departures.moved.items():
        owner, result = owner_of(departure.pod), results.get(key)
        if result is None:
            yield Fate(key, owner, "", _nobody_asked(departure.pod))
        else:
            yield Fate(key, owner, result.node or "", result.message)


def _nobody_asked(pod: Pod) -> str:
    return f"the scheduler {pod.scheduler_name} decides about it, which is not asked here"


def _by_owner(fates: Iterable[Fate]) -> dict[str, list[Fate]]:
    found: defaultdict[str, list[Fate]] = defaultdict(list)
    for fate in fates:
        found[fate.owner].append(fate)
    return found


def _placements(placed: Iterable[Fate]) -> list[Placement]:
    counts = Counter((fate.owner, fate.namespace, fate.node) for fate in placed)
    return [Placement(*place, count) for place, count in counts.most_common(MOST_GROUPS)]


def _waiting(fates: Iterable[Fate], remedies: Mapping[str, Sequence[object]]) -> Iterator[Waiting]:
    groups: defaultdict[tuple[str, str, str], list[Fate]] = defaultdict(list)
    for fate in fates:
        if not fate.node:
            groups[fate.owner, fate.namespace, fate.reason].append(fate)
    for (owner, namespace, reason), found in list(groups.items())[:MOST_GROUPS]:
        example = found[0].key
        yield Waiting(owner, namespace, len(found), reason, example, remedies.get(example, ()))
