"""Runs the plugins of a profile in order, each behind a fence: a failure fails one attempt of one pod."""

from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter

import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import EvictionRule, Filter, Plugin, PostFilter, PreFilter, Score, nothing_to_note
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.framework.api.verdicts import (
    SKIP_KIND,
    SKIP_SHAPE,
    Codes,
    Nominated,
    NoRoom,
    OnlyNodes,
    PluginFailed,
    Rejection,
    Skip,
    Verdicts,
    Wait,
)
from pilotage.framework.runtime.fence import CycleFailed, failure, unexpected
from pilotage.framework.runtime.plugin_guard import guard
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.framework.runtime.timings import ERROR, Timings
from pilotage.model.pod import Pod

_runners = count()  # numbers the runners, whose cached results for shapes are separate

MOST_KINDS = 2048  # of pods with lasting results
LONGEST_WAIT = 15 * 60.0  # seconds that a pod may wait on permit


@dataclass
class PreFilterResult:
    """The combined results of PreFilter for a pod."""

    skipped: set[str] = field(default_factory=set)  # plugins that do not apply
    only: frozenset[str] | None = None  # the names of the nodes that are left
    restricting: list[str] = field(default_factory=list)  # plugins that left only some
    rejection: Rejection | None = None

    def take(self, plugin: str, answer: object) -> bool:
        """Record a plugin's result; True if it is final and no other plugin needs to be called."""
        if isinstance(answer, Skip):
            self.skipped.add(plugin)
            return False
        if isinstance(answer, OnlyNodes):
            return self._restrict(plugin, answer)
        if not isinstance(answer, Rejection) or answer.pending:
            raise PluginFailed(unexpected(answer))  # in kube-scheduler, PreFilter cannot leave a pod pending either
        self.rejection = answer.by(plugin)
        if not answer.preemption_helps:
            self.restricting.clear()  # only this plugin is responsible
        return not answer.preemption_helps

    def _restrict(self, plugin: str, answer: OnlyNodes) -> bool:
        self.only = frozenset(answer.names) if self.only is None else self.only & frozenset(answer.names)
        self.restricting.append(plugin)
        if self.only:
            return False
        names = " ".join(sorted(self.restricting))
        several = len(self.restricting) > 1
        who = f"plugin(s) [{names}] simultaneously" if several else f"plugin {names}"
        self.rejection = Rejection(f"node(s) didn't satisfy {who}", preemption_helps=False)
        return True


@dataclass(slots=True)
class LastingSkips:
    """The plugins that skip a kind of pods while API objects and the terms of placed pods stay the same."""

    state: tuple[int, int]
    filtering: set[str] = field(default_factory=set)
    scoring: set[str] = field(default_factory=set)


class Runner:
    """Runs the plugin set of one profile."""

    def __init__(self, plugin_set: PluginSet, timings: Timings | None = None) -> None:
        guard(plugin_set.plugins().values())
        self.plugin_set = plugin_set
        self.timings = timings or Timings()
        self._pre_filters = [
            (plugin, self.timings.of(plugin.name, "PreFilter"))
            for plugin in plugin_set.pre_filter
            if type(plugin).pre_filter is not nothing_to_note
        ]
        number = next(_runners)
        self._skips_key, self._score_skips_key = ("skips", number), ("score skips", number)
        self._kinds: dict[Hashable, LastingSkips] = {}
        self._last_pod: Pod | None = None  # used by PreFilter and PreScore
        self._last_skips = LastingSkips((-1, -1))
        self._note_changers = [plugin for plugin in plugin_set.pre_filter if _changes_notes(plugin)]
        self.eviction_rules = [plugin for plugin in plugin_set.plugins().values() if isinstance(plugin, EvictionRule)]
        self._pre_scores = [
            (plugin, self.timings.of(plugin.name, "PreScore"))
            for plugin in plugin_set.pre_score
            if type(plugin).pre_score is not nothing_to_note
        ]

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        """Run PreFilter of every plugin, until a rejection that evictions cannot help."""
        pod = cycle.pod
        known: set[str] = pod.shape.remember(self._skips_key, lambda _: set())
        lasting = self._lasting(cycle).filtering
        before = PreFilterResult(known | lasting)
        for plugin, timing in self._pre_filters:
            if plugin.name in known or plugin.name in lasting:
                continue
            start = perf_counter()
            try:
                answer = plugin.pre_filter(cycle, pod)
                over = answer is not None and before.take(plugin.name, answer)
            except Exception as error:
                raise self._failed('running PreFilter plugin "{}": {}', plugin, "PreFilter", start, error) from error
            timing.add(perf_counter() - start)
            if answer is SKIP_SHAPE:
                known.add(plugin.name)
            elif answer is SKIP_KIND:
                lasting.add(plugin.name)
            if over:
                break
        return before

    def _lasting(self, cycle: Cycle) -> "LastingSkips":
        """Return which plugins skip pods of this kind while nothing changes."""
        pod, state = cycle.pod, (cycle.objects.changes, cycle.placed.terms_version)
        if pod is self._last_pod and state == self._last_skips.state:
            return self._last_skips
        key = pod.shape, pod.namespace, frozenset(pod.labels.items()), pod.metadata.owner_references
        found = self._kinds.get(key)
        if found is None or found.state != state:
            if len(self._kinds) >= MOST_KINDS:
                self._kinds.clear()
            found = self._kinds[key] = LastingSkips(state)
        self._last_pod, self._last_skips = pod, found
        return found

    def filter_nodes(self, plugin: Filter, cycle: Cycle, nodes: Nodes) -> Verdicts:
        """Run one filter on many nodes; the rejections name it."""
        timing, start = self.timings.of(plugin.name, "Filter"), perf_counter()
        try:
            verdicts: object = plugin.filter_nodes(cycle, cycle.pod, nodes)
            if not isinstance(verdicts, Verdicts):
                raise PluginFailed(unexpected(verdicts))
            found = Verdicts(_codes(verdicts, nodes), _rejections(verdicts, plugin.name))
        except Exception as error:
            raise self._failed('running "{}" filter plugin: {}', plugin, "Filter", start, error) from error
        timing.add(perf_counter() - start)
        return found

    def filter_node(self, plugin: Filter, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Run one filter on one node; the rejection names it."""
        with self._fence('running "{}" filter plugin: {}', plugin, "Filter"):
            answer = plugin.filter(cycle, cycle.pod, node)
            if answer is None:
                return None
            if not isinstance(answer, Rejection):
                raise PluginFailed(unexpected(answer))
        return answer.by(plugin.name)

    def first_rejection(self, cycle: Cycle, node: NodeInfo, skipped: set[str]) -> Rejection | None:
        """Run all filters on one node until one rejects it."""
        for plugin in self.plugin_set.filter:
            if plugin.name not in skipped:
                rejection = self.filter_node(plugin, cycle, node)
                if rejection is not None:
                    return rejection
        return None

    def post_filter(self, plugin: PostFilter, cycle: Cycle, verdicts: Verdicts) -> Nominated | NoRoom:
        """Run PostFilter of one plugin."""
        with self._fence("{1}", plugin, "PostFilter"):
            answer = plugin.post_filter(cycle, cycle.pod, verdicts)
            if not isinstance(answer, Nominated | NoRoom):
                raise PluginFailed(unexpected(answer))
        return answer

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> set[str]:
        """Run PreScore of every plugin on the feasible nodes; returns the plugins that skip scoring."""
        pod = cycle.pod
        known: set[str] = pod.shape.remember(self._score_skips_key, lambda _: set())
        lasting = self._lasting(cycle).scoring
        skipped = known | lasting
        for plugin, timing in self._pre_scores:
            if plugin.name in skipped:
                continue
            start = perf_counter()
            try:
                answer: object = plugin.pre_score(cycle, pod, nodes)
                if answer is not None:
                    if not isinstance(answer, Skip):
                        raise PluginFailed(unexpected(answer))
                    skipped.add(plugin.name)
                    if answer is SKIP_SHAPE:
                        known.add(plugin.name)
                    elif answer is SKIP_KIND:
                        lasting.add(plugin.name)
            except Exception as error:
                raise self._failed('running PreScore plugin "{}": {}', plugin, "PreScore", start, error) from error
            timing.add(perf_counter() - start)
        return skipped

    def score_nodes(self, plugin: Score, cycle: Cycle, nodes: Nodes) -> Ints | int:
        """Return the raw scores of many nodes by one plugin; a single number applies to all."""
        timing, start = self.timings.of(plugin.name, "Score"), perf_counter()
        try:
            scores: object = plugin.score_nodes(cycle, cycle.pod, nodes)
            found = int(scores) if isinstance(scores, int | np.integer) else _numbers(scores, nodes)
        except Exception as error:
            raise self._failed(
                'running Score plugins: plugin "{}" failed with: {}', plugin, "Score", start, error
            ) from error
        timing.add(perf_counter() - start)
        return found

    def score_node(self, plugin: Score, cycle: Cycle, node: NodeInfo) -> int:
        """Return the raw score of one node by one plugin."""
        with self._fence('running Score plugins: plugin "{}" failed with: {}', plugin, "Score"):
            score = plugin.score(cycle, cycle.pod, node)
            if not isinstance(score, int | np.integer):
                raise PluginFailed(unexpected(score))
            return int(score)

    def normalized(self, plugin: Score, cycle: Cycle, nodes: Nodes, scores: Ints) -> Ints:
        """Normalize one plugin's raw scores to 0..100; CycleFailed if that fails."""
        if plugin.normalize is not None:
            with self._fence('running Normalize on Score plugins: plugin "{}" failed with: {}', plugin, "Normalize"):
                own = scores if scores.flags.owndata else scores.copy()  # the plugin may change them in place
                scores = _numbers(plugin.normalize(cycle, cycle.pod, nodes, own), nodes)
        check_range(plugin, scores)
        return scores

    def reserve(self, cycle: Cycle, node: str, skipped: Collection[str] = ()) -> Rejection | None:
        """Run Reserve of every plugin; `unreserve` releases everything, also after a failure."""
        for plugin in self.plugin_set.reserve:
            if plugin.idle_when_skipped and plugin.name in skipped:
                continue
            timing, start = self.timings.of(plugin.name, "Reserve"), perf_counter()
            try:
                rejection = plugin.reserve(cycle, cycle.pod, node)
                if rejection is not None and not isinstance(rejection, Rejection):
                    raise PluginFailed(unexpected(rejection))
            except Exception as error:
                raise self._failed('running Reserve plugin "{}": {}', plugin, "Reserve", start, error) from error
            timing.add(perf_counter() - start)
            if rejection is not None:
                return rejection.by(plugin.name)
        return None

    def unreserve(self, cycle: Cycle, node: str) -> list[str]:
        """Run Unreserve of every plugin in reverse order; returns the errors, which do not stop the other plugins."""
        complaints = []
        for plugin in reversed(self.plugin_set.reserve):
            try:
                with self._fence('running Unreserve plugin "{}": {}', plugin, "Unreserve"):
                    plugin.unreserve(cycle, cycle.pod, node)
            except CycleFailed as error:
                complaints.append(str(error))
        return complaints

    def permit(self, cycle: Cycle, node: str) -> Rejection | dict[str, Wait] | None:
        """Run Permit of every plugin; returns which plugins wait and for how long."""
        waits: dict[str, Wait] = {}
        for plugin in self.plugin_set.permit:
            with self._fence('running Permit plugin "{}": {}', plugin, "Permit"):
                answer = plugin.permit(cycle, cycle.pod, node)
                if isinstance(answer, Rejection):
                    return answer.by(plugin.name)
                if isinstance(answer, Wait):
                    waits[plugin.name] = Wait(min(answer.seconds, LONGEST_WAIT), answer.reason)
                elif answer is not None:
                    raise PluginFailed(unexpected(answer))
        return waits or None

    def change_notes(self, cycle: Cycle, other: Pod, node: NodeInfo, skipped: set[str], *, add: bool) -> None:
        """Let the plugins update their notes as if a pod were added to a node or removed from it."""
        verb = "AddPod" if add else "RemovePod"
        for plugin in self._note_changers:
            if plugin.name not in skipped:
                with self._fence(f'running {verb} on PreFilter plugin "{{}}": {{}}', plugin, verb):
                    change: Callable[[Cycle, Pod, Pod, NodeInfo], object]
                    change = plugin.add_pod if add else plugin.remove_pod
                    if (answer := change(cycle, cycle.pod, other, node)) is not None:
                        raise PluginFailed(unexpected(answer))

    @contextmanager
    def _fence(self, text: str, plugin: Plugin, point: str) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        except Exception as error:
            raise self._failed(text, plugin, point, start, error) from error
        self.timings.of(plugin.name, point).add(perf_counter() - start)

    def _failed(self, text: str, plugin: Plugin, point: str, start: float, error: Exception) -> CycleFailed:
        self.timings.of(plugin.name, point, ERROR).add(perf_counter() - start)
        return failure(text, plugin, error)


def check_range(plugin: Plugin, scores: Ints) -> None:
    """Reject scores outside of 0..100."""
    if len(scores) and (scores.min() < 0 or scores.max() > MAX_SCORE):
        wrong = scores[(scores < 0) | (scores > MAX_SCORE)][0]
        raise CycleFailed(
            "applying score defaultWeights on Score plugins: "
            f'plugin "{plugin.name}" returns an invalid score {wrong}, '
            f"it should in the range of [0, {MAX_SCORE}] after normalizing",
            plugin.name,
        )


def _changes_notes(plugin: PreFilter) -> bool:
    kind = type(plugin)
    return kind.add_pod is not PreFilter.add_pod or kind.remove_pod is not PreFilter.remove_pod


def _codes(verdicts: Verdicts, nodes: Nodes) -> Codes:
    codes = verdicts.codes
    if codes.shape != (len(nodes),):
        raise PluginFailed(f"it returned results for {codes.size} nodes, not for {len(nodes)}")
    return codes if codes.dtype == np.uint16 else codes.astype(np.uint16)


def _rejections(verdicts: Verdicts, plugin: str) -> list[Rejection]:
    for rejection in verdicts.rejections:
        if not isinstance(rejection, Rejection):
            raise PluginFailed(unexpected(rejection))
    return [rejection.by(plugin) for rejection in verdicts.rejections]


def _numbers(scores: object, nodes: Nodes) -> Ints:
    """Return scores that can be weighted and summed; smaller integer types would overflow."""
    if not isinstance(scores, np.ndarray) or scores.dtype.kind not in "iu":
        raise PluginFailed(unexpected(scores))
    if scores.shape != (len(nodes),):
        raise PluginFailed(f"it returned results for {scores.size} nodes, not for {len(nodes)}")
    return scores if scores.dtype == np.int64 else scores.astype(np.int64)
