"""The steps of one attempt to place one pod, and their shared state."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from random import Random
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, Score
from pilotage.framework.api.verdicts import Codes, PluginFailed, Rejection, Verdicts
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.framework.runtime.preemption.eviction_rules import enough_leave
from pilotage.framework.runtime.runner import PreFilterResult
from pilotage.framework.runtime.timings import SUCCESS, UNSCHEDULABLE
from pilotage.model.excess import Excess, excess_of
from pilotage.model.pod import Pod
from pilotage.scheduling.diagnosis import Diagnosis, rejected_everywhere
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.equivalence.equivalence_entry import EquivalenceEntry
from pilotage.scheduling.equivalence.nominated_nodes import NOT_NOMINATED, NominatedNodeCache
from pilotage.scheduling.outcome import UNSCHEDULABLE as NO_NODE_DOES
from pilotage.scheduling.outcome import Unplaced
from pilotage.scheduling.post_filter import PostFilterResult
from pilotage.scheduling.sharing.held_nodes import HELD, held_back
from pilotage.scheduling.sharing.lost_nominations import LostNominations, without_lost_nominations
from pilotage.scheduling.sharing.near_best import maxima, near_best
from pilotage.scheduling.trial import Trials

log = logging.getLogger(__name__)

NO_CODES: Codes = np.zeros(0, np.uint16)
POD_LIMITS = "PodLimits"  # in place of a plugin's name in the queue: no event helps a pod that requests too much
BEFORE_ALL = -1  # the rank of rejections before any filter runs
NOMINATED_FOR_OTHERS = Rejection(
    "the node is nominated for others"
)  # never reported: such a node is evaluated after the others


class Nominations(Protocol):
    """The nominations of waiting pods."""

    @property
    def version(self) -> int:
        """Return a number that grows with every change."""

    @property
    def nodes(self) -> Collection[str]:
        """Return the nodes with a nomination."""

    def changed_since(self, version: int) -> Collection[str] | None:
        """Return the nodes whose nominations changed since a version; None if it is too old."""

    def node_of(self, pod: Pod) -> str | None:
        """Return the node that is nominated for a pod."""

    def pods_for_node(self, node: str) -> Sequence[Pod]:
        """Return the pods for which a node is nominated."""


class Attempt:
    """One attempt to schedule one pod."""

    def __init__(self, cache: ClusterCache, engine: Engine, nominations: Nominations, pod: Pod) -> None:
        self.engine = engine
        self._holds = cache.holds
        self._nominations = nominations
        self._trial = Trials(engine.runner)
        self.cycle = Cycle(
            pod,
            cache.nodes(),
            cache.placed,
            cache.objects,
            nominated=nominations.pods_for_node,
            nominated_nodes=lambda: tuple(nominations.nodes),
            trial=self._trial,
            remit=engine.remit,
        )
        self.lost_nominations: LostNominations | None = None
        self.before = PreFilterResult()
        self.entry: EquivalenceEntry | None = None
        self.codes = NO_CODES  # the verdict on every node
        self.not_scoring: frozenset[str] = frozenset()  # plugins that score all nodes alike for this pod
        self.preempts = True  # preemption is allowed if no node fits
        self.ties = 1  # nodes with the score of the chosen one, which is included
        self.is_held = False  # it would fit a node that the race guard holds
        self.remembering = True  # the entry is shared by the pod's class, not created for this attempt
        self._only_by_entry = False
        self._rejected_nomination: tuple[NodeInfo, Rejection] | None = None  # the nominated node, if it did not fit

    @property
    def open_nodes(self) -> int:
        """Return how many nodes PreFilter results leave."""
        only = self.before.only
        return self.cycle.node_count if only is None else sum(self.cycle.nodes.find(name) is not None for name in only)

    def run_pre_filter(self) -> PreFilterResult:
        """Run PreFilter; a pod with absurdly large requests is rejected before any plugin sees it."""
        runner, start = self.engine.runner, perf_counter()
        excess = excess_of(self.cycle.pod)
        self.before = runner.pre_filter(self.cycle) if excess is None else self._rejected_excess(excess)
        self._trial.skipped = self.before.skipped
        runner.timings.past("PreFilter", start, SUCCESS if self.before.rejection is None else UNSCHEDULABLE)
        return self.before

    def _rejected_excess(self, excess: Excess) -> PreFilterResult:
        self.preempts = False
        return PreFilterResult(rejection=Rejection(str(excess), preemption_helps=False, plugin=POD_LIMITS))

    def fitting_nominated_node(self) -> NodeInfo | None:
        """Return the pod's nominated node, if it exists and the pod fits."""
        pod = self.cycle.pod
        info = self.cycle.nodes.find(pod.nominated_node) if pod.nominated_node else None
        if info is None or (self._is_guarded and self._holds.is_closed_to(info.name, pod)):
            return None
        try:
            rejection = self._trial(self.cycle, info).verdict()
        except PluginFailed as error:
            log.warning("cannot evaluate pod %s on its nominated node %s: %s", pod.key, info.name, error)
            return None
        if rejection is None:
            return info
        self._rejected_nomination = info, rejection
        return None

    def feasible(self) -> Nodes:
        """Return all nodes where the pod fits."""
        start = perf_counter()
        try:
            found = self._feasible_by_entry()
        except CycleFailed:
            # In the normal order, the plugin might not have been called for the node where it failed.
            self.remembering = self._only_by_entry = False
            self.cycle.memory = None
            found = self._feasible_in_order()
        if self._is_guarded:
            found = self._without_held(found)
        self.engine.runner.timings.past("Filter", start, SUCCESS if len(found) else UNSCHEDULABLE)
        return found

    @property
    def _is_guarded(self) -> bool:
        """Return whether nodes may be held."""
        return bool(self._holds.active) and self.engine.guard

    def _without_held(self, feasible: Nodes) -> Nodes:
        """Exclude held nodes; nothing is evicted for a pod that fits a held node."""
        own, held = self.engine.remit.own(self.cycle.nodes), self._holds.closed_to(self.cycle.pod)
        slots = [slot for slot in _slots(self.cycle.nodes, held) if own is None or own[slot]]
        if not slots:
            return feasible
        assert self.entry is not None
        left = feasible.take(~np.isin(feasible.slots, slots))
        self.codes = self.codes.copy()
        self.codes[slots] = self.entry.code(HELD, BEFORE_ALL)
        self.is_held = not len(left) and len(feasible) > 0
        return left

    def _feasible_by_entry(self) -> Nodes:
        entries, cycle, skipped = self.engine.equivalence_cache, self.cycle, self.before.skipped
        entry = self.entry = entries.filtered(cycle, skipped)
        asking = [(rank, plugin) for rank, plugin in entries.cluster_filters if plugin.name not in skipped]
        is_open, nominations = self.before.only is None, self._nominations.nodes
        self.codes = entry.codes[: len(cycle.nodes)]
        self._only_by_entry = is_open and not asking and not nominations
        if not asking and not self.engine.runner.eviction_rules:
            self._follow_nominations(entry)
            cycle.memory = entry.memory
        if self._only_by_entry:
            return entry.nodes_left(cycle.nodes)
        self.codes = self.codes.copy()
        if is_open and cycle.memory is not None:
            return self._filter_nominated_nodes(entry, entry.nominated)
        return self._ask(entry, asking, tuple(nominations))

    def _follow_nominations(self, entry: EquivalenceEntry) -> None:
        """Forget cached results for nodes whose nominations have changed."""
        nodes, nominations = self.cycle.nodes, self._nominations
        changed = nominations.changed_since(entry.nominated.version)
        entry.forget(changed if changed is None else _slots(nodes, changed))
        entry.nominated.version = nominations.version
        own = nominations.node_of(self.cycle.pod)
        for slot in _slots(nodes, [own] if own else ()):
            self.cycle.own_nomination = slot

    def _filter_nominated_nodes(self, entry: EquivalenceEntry, nominated: NominatedNodeCache) -> Nodes:
        """Evaluate the nodes nominated for other pods; the result serves all pods of the class."""
        cycle, nodes, own = self.cycle, self.cycle.nodes, self.cycle.own_nomination
        if not nominated.is_for(cycle.pod.priority, len(nodes)):
            nominated.start(cycle.pod.priority, len(nodes), _slots(nodes, self._nominations.nodes))
        only_now = [own] if own >= 0 else []  # this pod's own nominated node, which other pods see differently
        nominated.forget(only_now)
        for slot in nominated.outdated(len(nodes)):
            nominated.set(slot, self._nominated_code(entry, slot))
        cycle.nominated_for_others = nominated.write_over(self.codes)
        nominated.forget(only_now)
        slots = np.flatnonzero(self.codes == 0).astype(np.int32)
        return nodes if len(slots) == len(nodes) else nodes.take(slots)

    def _nominated_code(self, entry: EquivalenceEntry, slot: int) -> int:
        info = self.cycle.nodes[slot]
        nominated = self.cycle.nominated_at_or_above(info.name)
        if not nominated:
            return NOT_NOMINATED
        rejection = self._trial(self.cycle, info).beside(nominated)
        return int(entry.codes[slot]) if rejection is None else entry.code(rejection, BEFORE_ALL)

    def _feasible_in_order(self) -> Nodes:
        """Return the same without the cache; no plugin sees a node that an earlier one rejects."""
        entry = self.entry = EquivalenceEntry()
        self.codes = np.zeros(len(self.cycle.nodes), np.uint16)
        filters = enumerate(self.engine.runner.plugin_set.filter)
        asking = [(rank, plugin) for rank, plugin in filters if plugin.name not in self.before.skipped]
        return self._ask(entry, asking, tuple(self._nominations.nodes))

    def _ask(self, entry: EquivalenceEntry, asking: Iterable[tuple[int, Filter]], nominations: Iterable[str]) -> Nodes:
        """Run filters on the nodes that PreFilter results leave."""
        nodes, codes = self.cycle.nodes, self.codes
        self._leave_only(entry)
        nominated = [found for name in nominations if (found := self._nominated_for_others(name)) is not None]
        if nominated:
            codes[[info.slot for info in nominated]] = entry.code(NOMINATED_FOR_OTHERS, BEFORE_ALL)
        for rank, plugin in asking:
            self.engine.equivalence_cache.reject(entry, self.cycle, nodes, codes, rank, plugin)
        for info in nominated:
            rejection = self._trial(self.cycle, info).verdict()
            codes[info.slot] = 0 if rejection is None else entry.code(rejection, BEFORE_ALL)
        slots = np.flatnonzero(codes == 0).astype(np.int32)
        return nodes if len(slots) == len(nodes) else nodes.take(slots)

    def best(self, nodes: Nodes) -> NDArray[np.integer]:
        """Return the slots of all nodes with the highest score."""
        return self._scored(nodes, self._best)

    def near_best(self, nodes: Nodes, percent: int, draw: Random) -> NDArray[np.integer]:
        """Return the slots of nodes whose scores are within a percentage of the highest, limited in number."""
        return self._scored(nodes, lambda scored: scored.slots[near_best(self._preferences(scored), percent, draw)])

    def _scored(self, nodes: Nodes, pick: Callable[[Nodes], NDArray[np.integer]]) -> NDArray[np.integer]:
        runner, start = self.engine.runner, perf_counter()
        self.not_scoring = frozenset(runner.pre_score(self.cycle, nodes))
        runner.timings.past("PreScore", start)
        start = perf_counter()
        found = pick(nodes)
        runner.timings.past("Score", start)
        return found

    def _best(self, nodes: Nodes) -> NDArray[np.integer]:
        if self.remembering:
            try:
                return self._best_by_entry(nodes)
            except CycleFailed:
                self.remembering = False  # as above: it may have failed for a node that is not among these
        return nodes.slots[maxima(self._totals(nodes))]

    def _preferences(self, nodes: Nodes) -> Ints:
        """Return the sum of the scores, without plugins that score all of these nodes alike."""
        if self.remembering:
            try:
                assert self.entry is not None
                return self.entry.totals(nodes, self._parts(self.entry, nodes))
            except CycleFailed:
                self.remembering = False  # as above
        return self._totals(nodes, preferring_only=True)

    def totals(self, nodes: Nodes, *, preferring_only: bool = False) -> Ints:
        """Return the weighted sums of all plugins' scores for these nodes.

        Optionally, plugins that score all of the nodes alike are left out.
        """
        self.not_scoring = frozenset(self.engine.runner.pre_score(self.cycle, nodes))
        return self._totals(nodes, preferring_only=preferring_only)

    def _totals(self, nodes: Nodes, *, preferring_only: bool = False) -> Ints:
        totals = np.zeros(len(nodes), np.int64)
        for plugin, _, normalized in self.scores(nodes):
            if not preferring_only or normalized.min() != normalized.max():
                totals += normalized * self.engine.runner.plugin_set.weights[plugin.name]
        return totals

    def scores(self, nodes: Nodes) -> Iterator[tuple[Score, Ints, Ints]]:
        """Yield the raw and the normalised scores of these nodes by every plugin that scores the pod."""
        runner = self.engine.runner
        for plugin in runner.plugin_set.score:
            if plugin.name not in self.not_scoring:
                answer = runner.score_nodes(plugin, self.cycle, nodes)
                raw = np.full(len(nodes), answer, np.int64) if isinstance(answer, int) else answer
                yield plugin, raw, runner.normalized(plugin, self.cycle, nodes, raw.copy())

    def _best_by_entry(self, nodes: Nodes) -> NDArray[np.integer]:
        entry, count = self.entry, len(self.cycle.nodes)
        assert entry is not None
        parts = self._parts(entry, nodes)
        if not parts and self._only_by_entry and len(nodes) == count - entry.rejected:
            return maxima(entry.ranked[:count])
        return nodes.slots[maxima(entry.totals(nodes, parts))]

    def _parts(self, entry: EquivalenceEntry, nodes: Nodes) -> list[Ints]:
        """Return the scores that are not in the entry, except those that are the same for all nodes."""
        runner, entries, cycle, skipped = (
            self.engine.runner,
            self.engine.equivalence_cache,
            self.cycle,
            self.not_scoring,
        )
        entries.scored(entry, cycle, skipped)
        weights = runner.plugin_set.weights
        parts: list[Ints] = []
        for plugin in entries.normalized_scores:
            if plugin.name not in skipped and not entries.is_even(plugin, entry.uniform[plugin.name]):
                raw = entry.raw[plugin.name][nodes.slots]
                parts.append(runner.normalized(plugin, cycle, nodes, raw) * weights[plugin.name])
        idle = self.before.skipped
        for plugin in entries.cluster_scores:
            if plugin.name not in skipped and not (plugin.idle_when_skipped and plugin.name in idle):
                scores = runner.score_nodes(plugin, cycle, nodes)
                if isinstance(scores, int):
                    if entries.is_even(plugin, scores):
                        continue
                    scores = np.full(len(nodes), scores, np.int64)
                parts.append(runner.normalized(plugin, cycle, nodes, scores) * weights[plugin.name])
        return parts

    def post_filter(self) -> Unplaced:
        """Run PostFilter for a pod that fits no node; returns why it does not fit."""
        assert self.entry is not None
        return self.unplaced(Diagnosis(Verdicts(self.codes, self.entry.rejections), self.before))

    def post_filter_after_pre_filter(self, rejection: Rejection) -> Unplaced:
        """Do the same for a pod that PreFilter rejected."""
        return self.unplaced(rejected_everywhere(self.cycle, self.before, rejection))

    def unplaced(self, diagnosis: Diagnosis) -> Unplaced:
        """Let PostFilter plugins preempt for a pod that fits no node; returns why it does not fit."""
        if self.is_held:
            return held_back(diagnosis)
        runner = self.engine.runner
        makers = runner.plugin_set.post_filter if self.preempts else ()
        post_filter = PostFilterResult(bool(makers))
        if makers:
            diagnosis = without_lost_nominations(self.lost_nominations, self.cycle, post_filter, diagnosis)
        try:
            makers = () if self.is_freed_anyway(post_filter, diagnosis) else makers  # 1. do terminating pods suffice
            for plugin in makers:  # 2. which other pods to evict
                if post_filter.take(runner.post_filter(plugin, self.cycle, diagnosis.verdicts)):
                    break
        except CycleFailed as error:
            post_filter.fail(error)
        return post_filter.outcome(diagnosis, runner.timings, self.cycle.again_at)

    def is_freed_anyway(self, post_filter: PostFilterResult, diagnosis: Diagnosis) -> bool:
        """Return whether terminating pods free enough resources, so that no plugin needs to preempt."""
        if not post_filter.asked:
            return False
        coming = enough_leave(self.engine.runner.eviction_rules, self.cycle, diagnosis.verdicts)
        if coming is not None:
            post_filter.take(coming)
        return coming is not None

    def _leave_only(self, entry: EquivalenceEntry) -> None:
        """Reject the nodes that PreFilter results exclude."""
        only = self.before.only
        if only is None:
            return
        names = set(self.before.restricting)
        if self._rejected_nomination is not None:
            names.add(self._rejected_nomination[1].plugin)  # kube-scheduler reports both in one message
        text = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(names))}]"
        left = [info.slot for name in only if (info := self.cycle.nodes.find(name)) is not None]
        kept = self.codes[left]
        self.codes[:] = entry.code(Rejection(text, preemption_helps=False), BEFORE_ALL)
        if self._rejected_nomination is not None:
            info, rejection = self._rejected_nomination
            self.codes[info.slot] = entry.code(rejection, BEFORE_ALL)  # this one was evaluated
        self.codes[left] = kept

    def _nominated_for_others(self, name: str) -> NodeInfo | None:
        """Return a node that is nominated for pods of at least the same priority, if PreFilter results include it."""
        if self.before.only is not None and name not in self.before.only:
            return None
        return self.cycle.nodes.find(name) if self.cycle.nominated_at_or_above(name) else None


def unplaced_by(rejection: Rejection) -> Unplaced:
    """Return the outcome for a pod that a plugin rejected after its node was chosen."""
    diagnosis = Diagnosis(Verdicts(np.ones(1, np.uint16), [rejection]), PreFilterResult())
    reason = rejection.held_as or NO_NODE_DOES
    plugins, pending = diagnosis.rejected_by(), diagnosis.pending()
    return Unplaced(diagnosis.message(""), reason, rejected_by=plugins, pending=pending, counted=diagnosis.counted)


def _slots(nodes: Nodes, names: Iterable[str]) -> list[int]:
    """Return the slots of the nodes that exist."""
    return [info.slot for name in names if (info := nodes.find(name)) is not None]
