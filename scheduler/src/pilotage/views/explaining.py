"""Why a pod fits where it fits: groups of nodes and pages of single ones, never an object for every node."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.verdicts import Codes, PluginFailed, Rejection
from pilotage.framework.runtime.own_nodes import is_left_out
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.rejection_details import details, remarks, spared
from pilotage.views.answers import (
    Explanation,
    NodeExplained,
    NodesExplained,
    PluginWeight,
    ReasonGroup,
    RemedyShown,
    ScoreShown,
)
from pilotage.views.paging import after, continued, page_of_keys
from pilotage.views.reasons import MOST_GROUPS, group_of
from pilotage.views.state import Stamp, State, Steps
from pilotage.views.viewer import Viewer, Words

REJECTED, FIT = "rejected", "fit"
A_PART = 500  # nodes that are sorted in one step


@dataclass(frozen=True)
class ExplainQuestion:
    """Which single nodes to show: those that fit, the others, one by name, or all."""

    nodes: str = ""
    limit: int = 50
    continue_: str = ""


@dataclass(frozen=True)
class Remedied:
    """Remedies, if they were searched for."""

    remedies: tuple[RemedyShown, ...] = ()
    none: str = ""
    why_not: str = ""


def explanation(
    state: State,
    viewer: Viewer,
    stamp: Stamp,
    pod: Pod,
    engine: Engine,
    question: ExplainQuestion,
    remedied: Remedied = Remedied(),  # noqa: B008 - it is frozen
) -> Steps[Explanation]:
    """Evaluate a pod with all plugins, without placing it."""
    found = _Explaining(state, viewer, pod.on(""), engine)
    error = found.decide()
    yield
    nodes = (yield from found.nodes(question)) if viewer.nodes else NodesExplained()
    best = found.best()
    words = found.words
    return Explanation(
        at=stamp.at,
        revision=stamp.revision,
        source=stamp.source,
        namespace=pod.namespace,
        name=pod.name,
        profile=pod.scheduler_name,
        before=found.before(),
        error=words(error),
        fits=len(found.feasible) if found.feasible is not None else 0,
        nodes_total=found.in_all,
        groups=found.groups(),
        scoring=[PluginWeight(plugin=name, weight=weight) for name, weight in found.scoring()],
        nodes=nodes,
        remedies=list(remedied.remedies),
        no_remedy=remedied.none,
        chosen=best[0] if viewer.nodes else "",
        ties=best[1],
        why_not=remedied.why_not,
    )


class _Explaining:
    """An attempt without consequences."""

    def __init__(self, state: State, viewer: Viewer, pod: Pod, engine: Engine) -> None:
        self.words = Words(state, viewer)
        self.feasible: Nodes | None = None
        self._viewer, self._engine = viewer, engine
        self._attempt = Attempt(state.cache, engine, state.queue.nominator, pod)
        self._scores: dict[str, tuple[Ints, Ints]] = {}  # raw and normalised, of the nodes that fit
        self._totals: Ints = np.zeros(0, np.int64)
        # As decided: the cluster changes while the answer is built.
        self._infos: list[NodeInfo] = []
        self._codes: Codes = np.zeros(0, np.uint16)  # of each of these nodes
        self._rejections: list[Rejection] = []  # that the codes index

    def decide(self) -> str:
        """Run all plugins; returns the error of one that failed."""
        attempt = self._attempt
        try:
            if attempt.run_pre_filter().rejection is not None or not len(attempt.cycle.nodes):
                return ""
            self.feasible = attempt.feasible()
            if len(self.feasible) > 1:
                self._score(self.feasible)
        except PluginFailed as error:
            return str(error)
        finally:
            self._keep()
        return ""

    def _keep(self) -> None:
        attempt = self._attempt
        self._infos = list(attempt.cycle.nodes)
        self._codes = attempt.codes[: len(self._infos)].copy()
        self._rejections = [] if attempt.entry is None else list(attempt.entry.rejections)

    def _score(self, nodes: Nodes) -> None:
        runner, attempt = self._engine.runner, self._attempt
        attempt.not_scoring = frozenset(runner.pre_score(attempt.cycle, nodes))
        self._totals = np.zeros(len(nodes), np.int64)
        for plugin, raw, normalized in attempt.scores(nodes):
            self._scores[plugin.name] = raw, normalized
            self._totals += normalized * runner.plugin_set.weights[plugin.name]

    # ------------------------------------------------------------------------------------------------------- in all

    @property
    def in_all(self) -> int:
        """Return how many nodes there are for the profile."""
        left_out = sum(number for rejection, number in self._counted() if is_left_out(rejection))
        return len(self._infos) - left_out

    def before(self) -> ReasonGroup | None:
        """Return the rejection by a PreFilter plugin, which comes before any node is evaluated."""
        rejection = self._attempt.before.rejection
        return None if rejection is None else group_of(rejection, 0, self.words)

    def groups(self) -> list[ReasonGroup]:
        """Return the rejected nodes by reason, the largest group first."""
        ranked = sorted(self._counted(), key=lambda each: -each[1])[:MOST_GROUPS]
        return [
            group_of(rejection, number, self.words, self._example(rejection))
            for rejection, number in ranked
            if not is_left_out(rejection)
        ]

    def _counted(self) -> list[tuple[Rejection, int]]:
        if self.feasible is None:
            return []
        numbers = np.bincount(self._codes, minlength=1).tolist()
        return [(self._rejections[code - 1], number) for code, number in enumerate(numbers) if code and number]

    def _example(self, rejection: Rejection) -> str:
        if not self._viewer.nodes:
            return ""
        code = 1 + next(place for place, each in enumerate(self._rejections) if each is rejection)
        places = np.flatnonzero(self._codes == code)
        return self._infos[int(places[0])].name if len(places) else ""

    def scoring(self) -> Iterator[tuple[str, int]]:
        """Yield the plugins that score the pod, with their weights."""
        weights = self._engine.runner.plugin_set.weights
        return ((name, weights[name]) for name in self._scores)

    def best(self) -> tuple[str, int]:
        """Return a node with the highest score, and how many have it."""
        nodes = self.feasible
        if nodes is None or not len(nodes):
            return "", 0
        best = np.flatnonzero(self._totals == self._totals.max()) if self._scores else np.zeros(1, np.intp)
        return self._infos[int(nodes.slots[best[0]])].name, len(best)

    # --------------------------------------------------------------------------------------------------- one by one

    def nodes(self, question: ExplainQuestion) -> Steps[NodesExplained]:
        """Return a page of nodes: the best first, those that do not fit by name after them."""
        behind = after(question.continue_, tuple[int, int, str])
        places: dict[str, int] = {}
        keys, total, more = yield from page_of_keys(self._keys(question.nodes, places), question.limit, behind)
        items = []
        for number, key in enumerate(keys):
            if number % 5 == 4:
                yield
            items.append(self._explained(places[key[-1]]))
        return NodesExplained(total=total, items=items, continue_=continued(*keys[-1]) if more else "")

    def _keys(self, wanted: str, places: dict[str, int]) -> Iterator[list[tuple[int, int, str]]]:
        """Yield the sort keys of nodes in parts, and record the place of each node."""
        if self.feasible is None or len(self._codes) < len(self._infos):
            return
        chosen = self._chosen(wanted)
        totals = np.zeros(len(self._infos), np.int64)
        if self._scores:
            totals[self.feasible.slots] = self._totals
        for start in range(0, len(chosen), A_PART):
            part = chosen[start : start + A_PART]
            names = [self._infos[place].name for place in part.tolist()]
            places.update(zip(names, part.tolist(), strict=True))
            fits = (self._codes[part] == 0).tolist()
            best_first = (-totals[part]).tolist()
            yield [
                (0, total, name) if does else (1, 0, name)
                for does, total, name in zip(fits, best_first, names, strict=True)
            ]

    def _chosen(self, wanted: str) -> NDArray[np.intp]:
        """Return the places of the nodes to show."""
        if wanted not in ("", REJECTED, FIT):
            named = [place for place, info in enumerate(self._infos) if info.name == wanted]
            return np.array(named, np.intp)
        left_out = [code for code, each in enumerate(self._rejections, start=1) if is_left_out(each)]
        shown = ~np.isin(self._codes, left_out)
        if wanted:
            shown &= (self._codes == 0) if wanted == FIT else (self._codes != 0)
        return np.flatnonzero(shown)

    def _explained(self, place: int) -> NodeExplained:
        info, code = self._infos[place], int(self._codes[place])
        if not code:
            return self._fitting(place)
        rejection = self._rejections[code - 1]
        cycle, runner = self._attempt.cycle, self._engine.runner
        plugins = runner.plugin_set.plugins()
        names = [rejection.plugin] if rejection.plugin else self._attempt.before.restricting
        told = details(rejection, cycle.pod, info)
        if not any(told):
            remark = remarks([plugins[name] for name in names if name in plugins], cycle, info)
            told = (remark, *told[1:])
        can_help = rejection.preemption_helps and runner.plugin_set.post_filter
        return NodeExplained(
            node=info.name,
            fits=False,
            plugin=rejection.plugin,
            reasons=self.words.all(rejection.reasons),
            details=self.words.all(told) if any(told) else [],
            spared=self.words(spared(runner.eviction_rules, cycle, info)) if can_help else "",
        )

    def _fitting(self, at: int) -> NodeExplained:
        assert self.feasible is not None
        weights, name = self._engine.runner.plugin_set.weights, self._infos[at].name
        if not self._scores:
            return NodeExplained(node=name, fits=True)
        place = int(np.searchsorted(self.feasible.slots, at))
        scores = [
            ScoreShown(
                plugin=plugin,
                raw=int(raw[place]),
                normalized=int(normalized[place]),
                weighted=int(normalized[place]) * weights[plugin],
            )
            for plugin, (raw, normalized) in self._scores.items()
        ]
        return NodeExplained(node=name, fits=True, scores=scores, total=int(self._totals[place]))
