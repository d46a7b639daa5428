"""Why a pod goes where it goes, as groups of nodes and pages of them; never one object for each node of the cluster."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.verdicts import PluginFailed, Rejection
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
from pilotage.views.paging import after, continued, page
from pilotage.views.reasons import MOST_GROUPS, group_of
from pilotage.views.state import Stamp, State, Steps
from pilotage.views.viewer import Viewer, Words

REJECTED, FIT = "rejected", "fit"
NO_ROW = Rejection()


@dataclass(frozen=True)
class ExplainQuestion:
    """Which nodes are to be shown one by one: those that fit, the others, one by its name, or all."""

    nodes: str = ""
    limit: int = 50
    continue_: str = ""


@dataclass(frozen=True)
class Remedied:
    """What would help, as far as it was looked for."""

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
    """Ask all plugins about a pod, without giving it a place."""
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
    """One attempt that is only looked at."""

    def __init__(self, state: State, viewer: Viewer, pod: Pod, engine: Engine) -> None:
        self.words = Words(state, viewer)
        self.feasible: Nodes | None = None
        self._viewer, self._engine = viewer, engine
        self._attempt = Attempt(state.cache, engine, state.queue.nominator, pod)
        self._scores: dict[str, tuple[Ints, Ints]] = {}  # raw and normalised, of the nodes that fit
        self._totals: Ints = np.zeros(0, np.int64)

    def decide(self) -> str:
        """Ask all plugins; returns what went wrong."""
        attempt = self._attempt
        try:
            if attempt.run_pre_filter().rejection is not None or not len(attempt.cycle.nodes):
                return ""
            self.feasible = attempt.feasible()
            if len(self.feasible) > 1:
                self._score(self.feasible)
        except PluginFailed as error:
            return str(error)
        return ""

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
        return len(self._attempt.cycle.nodes) - left_out

    def before(self) -> ReasonGroup | None:
        """Return what was said before any node was looked at."""
        rejection = self._attempt.before.rejection
        return None if rejection is None else group_of(rejection, 0, self.words)

    def groups(self) -> list[ReasonGroup]:
        """Return the nodes that do not do, by reason, the largest group first."""
        ranked = sorted(self._counted(), key=lambda each: -each[1])[:MOST_GROUPS]
        return [
            group_of(rejection, number, self.words, self._example(rejection))
            for rejection, number in ranked
            if not is_left_out(rejection)
        ]

    def _counted(self) -> list[tuple[Rejection, int]]:
        attempt = self._attempt
        if attempt.entry is None or self.feasible is None:
            return []
        numbers = np.bincount(attempt.codes, minlength=1).tolist()
        return [(attempt.entry.rejections[code - 1], n) for code, n in enumerate(numbers) if code and n]

    def _example(self, rejection: Rejection) -> str:
        attempt = self._attempt
        if not self._viewer.nodes or attempt.entry is None:
            return ""
        code = 1 + next(place for place, each in enumerate(attempt.entry.rejections) if each is rejection)
        slots = np.flatnonzero(attempt.codes == code)
        return attempt.cycle.nodes[int(slots[0])].name if len(slots) else ""

    def scoring(self) -> Iterator[tuple[str, int]]:
        """Yield the plugins that score the pod, with their weights."""
        weights = self._engine.runner.plugin_set.weights
        return ((name, weights[name]) for name in self._scores)

    def best(self) -> tuple[str, int]:
        """Return a node with the highest score, and how many have it."""
        nodes = self.feasible
        if nodes is None or not len(nodes):
            return "", 0
        if len(nodes) == 1:
            return nodes[0].name, 1
        places = np.flatnonzero(self._totals == self._totals.max())
        return nodes[int(places[0])].name, len(places)

    # --------------------------------------------------------------------------------------------------- one by one

    def nodes(self, question: ExplainQuestion) -> Steps[NodesExplained]:
        """Return a page of nodes: the best first, those that do not do by name behind them."""
        behind = after(question.continue_, tuple[int, int, str])
        totals = dict(zip(self.feasible.slots.tolist(), self._totals.tolist(), strict=False)) if self.feasible else {}

        def key(info: NodeInfo) -> tuple[int, int, str]:
            fits = self._rejection(info) is None
            return (0, -totals.get(info.slot, 0), info.name) if fits else (1, 0, info.name)

        found, total, more = yield from page(self._chosen(question), key, question.limit, behind)
        items = []
        for number, info in enumerate(found):
            if number % 10 == 9:
                yield
            items.append(self._explained(info))
        return NodesExplained(total=total, items=items, continue_=continued(*key(found[-1])) if more else "")

    def _chosen(self, question: ExplainQuestion) -> Iterator[NodeInfo]:
        nodes, wanted = self._attempt.cycle.nodes, question.nodes
        if self.feasible is None:
            return
        if wanted not in ("", REJECTED, FIT):
            named = nodes.find(wanted)
            yield from [] if named is None else [named]
            return
        codes = self._attempt.codes
        slots = np.arange(len(codes))
        if wanted:
            slots = np.flatnonzero(codes == 0) if wanted == FIT else np.flatnonzero(codes != 0)
        for slot in slots.tolist():
            if slot < len(nodes) and not _is_left_out(self._rejection(nodes[slot])):
                yield nodes[slot]

    def _rejection(self, info: NodeInfo) -> Rejection | None:
        attempt = self._attempt
        if attempt.entry is None or not 0 <= info.slot < len(attempt.codes):
            return NO_ROW
        code = int(attempt.codes[info.slot])
        return attempt.entry.rejections[code - 1] if code else None

    def _explained(self, info: NodeInfo) -> NodeExplained:
        rejection = self._rejection(info)
        if rejection is None:
            return self._fitting(info)
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

    def _fitting(self, info: NodeInfo) -> NodeExplained:
        assert self.feasible is not None
        weights = self._engine.runner.plugin_set.weights
        if not self._scores:
            return NodeExplained(node=info.name, fits=True)
        place = int(np.searchsorted(self.feasible.slots, info.slot))
        scores = [
            ScoreShown(
                plugin=name,
                raw=int(raw[place]),
                normalized=int(normalized[place]),
                weighted=int(normalized[place]) * weights[name],
            )
            for name, (raw, normalized) in self._scores.items()
        ]
        return NodeExplained(node=info.name, fits=True, scores=scores, total=int(self._totals[place]))


def _is_left_out(rejection: Rejection | None) -> bool:
    return rejection is not None and is_left_out(rejection)
