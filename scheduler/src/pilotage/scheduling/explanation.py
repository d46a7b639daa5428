"""Explains a decision by every node, plugin and score, without side effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.framework.runtime.own_nodes import is_left_out
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Attempt, Nominations
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.gangs.gang_standing import GangStanding
from pilotage.scheduling.rejection_details import details, remarks, spared


@dataclass(frozen=True)
class PluginScore:
    """One plugin's score of one node."""

    raw: int
    normalized: int
    weight: int

    @property
    def weighted(self) -> int:
        """Return its contribution to the total."""
        return self.normalized * self.weight


@dataclass(frozen=True)
class NodeVerdict:
    """One node: why it does not fit, or its scores."""

    node: str
    rejection: Rejection | None = None
    scores: dict[str, PluginScore] = field(default_factory=dict)
    details: tuple[str, ...] = ()  # the figures behind the reasons of the rejection, one for each
    spared: str = ""  # possible victims there that are spared for now

    @property
    def total(self) -> int:
        """Return the sum of the weighted scores."""
        return sum(score.weighted for score in self.scores.values())


@dataclass(frozen=True)
class Explanation:
    """The verdicts on all nodes; or, if no node was evaluated, the reason."""

    nodes: Sequence[NodeVerdict]
    before: Rejection | None = None
    error: str = ""
    gang: GangStanding | None = None  # of the pod, if it is incomplete

    @property
    def feasible(self) -> list[NodeVerdict]:
        """Return the nodes that fit."""
        return [node for node in self.nodes if node.rejection is None]


def explain(cache: ClusterCache, engine: Engine, nominations: Nominations, pod: Pod) -> Explanation:
    """Run all plugins for a pod, without reserving a node."""
    attempt = Attempt(cache, engine, nominations, pod)
    try:
        before = attempt.run_pre_filter()
        if before.rejection is not None or not len(attempt.cycle.nodes):
            return Explanation([], before.rejection)
        nominated = attempt.fitting_nominated_node()
        if nominated is not None:
            return Explanation([NodeVerdict(nominated.name)])
        feasible = attempt.feasible()
        scores = _scores(attempt, feasible) if len(feasible) > 1 else {}
    except PluginFailed as error:
        return Explanation([], error=str(error))
    assert attempt.entry is not None
    rejections = [None, *attempt.entry.rejections]
    by_node = ((info, rejections[code]) for info, code in zip(attempt.cycle.nodes, attempt.codes.tolist(), strict=True))
    return Explanation([_verdict(attempt, info, said, scores) for info, said in by_node if not _is_left_out(said)])


def _is_left_out(rejection: Rejection | None) -> bool:
    return rejection is not None and is_left_out(rejection)


def _verdict(
    attempt: Attempt, info: NodeInfo, rejection: Rejection | None, scores: Mapping[int, dict[str, PluginScore]]
) -> NodeVerdict:
    if rejection is None:
        return NodeVerdict(info.name, None, scores.get(info.slot, {}))
    cycle, runner = attempt.cycle, attempt.engine.runner
    plugins = runner.plugin_set.plugins()
    names = [rejection.plugin] if rejection.plugin else attempt.before.restricting
    figures = details(rejection, cycle.pod, info)
    if not any(figures):
        remark = remarks([plugins[name] for name in names if name in plugins], cycle, info)
        figures = (remark, *figures[1:])
    kept = (
        spared(runner.eviction_rules, cycle, info)
        if rejection.preemption_helps and runner.plugin_set.post_filter
        else ""
    )
    return NodeVerdict(info.name, rejection, details=figures, spared=kept)


def scores_at(attempt: Attempt, nodes: Nodes, slot: int) -> dict[str, PluginScore]:
    """Return the scores of one of the nodes that were just scored, reusing that work."""
    runner, cycle, row = attempt.engine.runner, attempt.cycle, attempt.entry
    assert row is not None
    place = int(np.flatnonzero(nodes.slots == slot)[0])
    found = {}
    for plugin in runner.plugin_set.score:
        if plugin.name in attempt.not_scoring:
            continue
        if plugin.normalize is None:
            raw = after = runner.score_node(plugin, cycle, cycle.nodes[slot])
        else:
            known = row.raw.get(plugin.name) if attempt.remembering else None
            scores = runner.score_nodes(plugin, cycle, nodes) if known is None else known[nodes.slots]
            given = np.full(len(nodes), scores, np.int64) if isinstance(scores, int) else scores
            raw, after = int(given[place]), int(runner.normalized(plugin, cycle, nodes, given)[place])
        found[plugin.name] = PluginScore(raw, after, runner.plugin_set.weights[plugin.name])
    return found


def _scores(attempt: Attempt, nodes: Nodes) -> dict[int, dict[str, PluginScore]]:
    """Return the scores of all plugins that score this pod, by slot; computed again, not from the cache."""
    runner = attempt.engine.runner
    attempt.not_scoring = frozenset(runner.pre_score(attempt.cycle, nodes))
    found: dict[int, dict[str, PluginScore]] = {int(slot): {} for slot in nodes.slots}
    for plugin, raw, normalized in attempt.scores(nodes):
        weight = runner.plugin_set.weights[plugin.name]
        for slot, before, after in zip(nodes.slots.tolist(), raw.tolist(), normalized.tolist(), strict=True):
            found[slot][plugin.name] = PluginScore(before, after, weight)
    return found
