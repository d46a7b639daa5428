"""Caches results for all nodes by class of pods, and evaluates only changed nodes again."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from time import monotonic

import numpy as np

from pilotage.cache.node_columns import NodeColumns
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ids, Ints, Nodes
from pilotage.framework.api.plugin import CLUSTER, NODE, STATIC, Filter, Plugin, PreFilter, Score
from pilotage.framework.api.scoring import MAX_SCORE, keeps_equals
from pilotage.framework.api.verdicts import Codes, Rejection
from pilotage.framework.runtime.fence import failure, unexpected
from pilotage.framework.runtime.runner import Runner, check_range
from pilotage.model.pod import Pod
from pilotage.scheduling.equivalence.equivalence_entry import NEVER, EquivalenceEntry

FEW = 24  # changed nodes that are evaluated one by one, which is cheaper than arrays
MOST_BYTES = 512 * 1024 * 1024  # of all entries; the least recently used one is evicted first
BYTES_PER_NODE = 40
MOST_ENTRIES = 2048  # however small: with many unique pods, old entries are useless
FORGOTTEN_AT_ONCE = 8  # entries for each new one
LONGEST_UNUSED = 300.0  # seconds: entries of unique pods are never used again
NOWHERE = -1
MOST_REJECTIONS = 50_000  # of an entry, whose codes have 16 bits; only reasons that contain node names reach this


class EquivalenceCache:
    """The entries of one profile."""

    def __init__(self, runner: Runner, columns: NodeColumns) -> None:
        self._runner = runner
        self._columns = columns
        self._entries: dict[Hashable, EquivalenceEntry] = {}  # the least recently used first
        plugin_set = runner.plugin_set
        ranked = list(enumerate(plugin_set.filter))
        self._static_filters = [(rank, plugin) for rank, plugin in ranked if plugin.depends_on is STATIC]
        self._node_filters = [(rank, plugin) for rank, plugin in ranked if plugin.depends_on is NODE]
        self.cluster_filters = [(rank, plugin) for rank, plugin in ranked if plugin.depends_on is CLUSTER]
        self._static_scores = [plugin for plugin in plugin_set.score if plugin.depends_on is STATIC]
        self._node_scores = [plugin for plugin in plugin_set.score if plugin.depends_on is NODE]
        self.cluster_scores = [plugin for plugin in plugin_set.score if plugin.depends_on is CLUSTER]
        # Raw scores are cached, and normalised each time.
        self.normalized_scores = [p for p in self._static_scores + self._node_scores if p.normalize is not None]
        remembered = [plugin for _, plugin in self._static_filters + self._node_filters]
        scored = self._static_scores + self._node_scores
        self._filters_with_epoch = [_Epoch(plugin) for plugin in remembered if _has_epoch(plugin)]
        self._scores_with_epoch = [_Epoch(plugin) for plugin in scored if _has_epoch(plugin)]
        self._by_shape_alone = all(plugin.same_for_shape for plugin in [*remembered, *scored])
        self._skippable = [plugin.name for plugin in remembered if isinstance(plugin, PreFilter)]
        # If all scores of these plugins are the same, normalisation is not needed.
        self._keeping_equals = frozenset(plugin.name for plugin in plugin_set.score if keeps_equals(plugin))

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def forget(self) -> None:
        """Clear the cache."""
        self._entries.clear()

    def filtered(self, cycle: Cycle, skipped: set[str]) -> EquivalenceEntry:
        """Return the entry of the pod's class with current verdicts."""
        entry = self._entry(cycle.pod, skipped)
        table, count = self._columns, len(cycle.nodes)
        if entry.count != count:
            entry.resize(count)
        epochs = _epochs(self._filters_with_epoch, cycle)
        static, changed = None, None
        if epochs == entry.filter_epochs:
            static, changed = table.changes_since(*entry.filtered_at)
        entry.filtered_at = NEVER  # until this succeeds
        entry.forget(None if static is None else changed)
        if static is None or changed is None:
            entry.scored_at = NEVER  # unchanged nodes may be feasible now, without a score
            self._filter(entry, cycle, cycle.nodes, skipped, static=True)
        elif len(static):
            self._filter(entry, cycle, Nodes(table, changed), skipped, static=True)
        elif len(changed) <= FEW:
            for slot in changed.tolist():
                self._filter_one(entry, cycle, slot, skipped)
        else:
            self._filter(entry, cycle, Nodes(table, changed), skipped, static=False)
        entry.filtered_at = table.static_version, table.pods_version
        entry.filter_epochs = epochs
        return entry

    def scored(self, entry: EquivalenceEntry, cycle: Cycle, skipped: frozenset[str]) -> None:
        """Update the scores of an entry, for its feasible nodes."""
        table = self._columns
        epochs = _epochs(self._scores_with_epoch, cycle)
        static, changed = None, None
        if epochs == entry.score_epochs and skipped == entry.score_skipped:
            static, changed = table.changes_since(*entry.scored_at)
        entry.scored_at = NEVER  # until this succeeds
        if static is None or changed is None:
            self._score(entry, cycle, cycle.nodes, skipped, static=True)
        elif len(static):
            self._score(entry, cycle, Nodes(table, changed), skipped, static=True)
        elif len(changed) <= FEW:
            for slot in changed.tolist():
                self._score_one(entry, cycle, slot, skipped)
        else:
            self._score(entry, cycle, Nodes(table, changed), skipped, static=False)
        entry.scored_at = entry.filtered_at
        entry.score_epochs, entry.score_skipped = epochs, skipped

    def is_even(self, plugin: Score, score: int | None) -> bool:
        """Return whether equal raw scores of a plugin are also equal when normalised."""
        if score is None or score < 0 or plugin.name not in self._keeping_equals:
            return False
        return score <= MAX_SCORE or plugin.normalize is not None

    def _entry(self, pod: Pod, skipped: set[str]) -> EquivalenceEntry:
        key: Hashable = pod.shape if self._by_shape_alone else _class_key(pod)
        key = key, tuple([name in skipped for name in self._skippable])
        entry, now = self._entries.pop(key, None), monotonic()
        if entry is None or len(entry.rejections) > MOST_REJECTIONS:
            entry = EquivalenceEntry()
            self._forget_the_oldest(now)
        entry.used_at = now
        self._entries[key] = entry
        return entry

    def _forget_the_oldest(self, now: float) -> None:
        most = min(MOST_ENTRIES, max(64, MOST_BYTES // (BYTES_PER_NODE * max(1, len(self._columns.infos)))))
        for key, entry in list(islice(self._entries.items(), FORGOTTEN_AT_ONCE)):
            if len(self._entries) < most and now - entry.used_at <= LONGEST_UNUSED:
                break
            del self._entries[key]

    def _filter(self, entry: EquivalenceEntry, cycle: Cycle, nodes: Nodes, skipped: set[str], *, static: bool) -> None:
        slots = nodes.slots
        if static:
            entry.static_codes[slots] = self._first_codes(entry, cycle, nodes, self._static_filters, skipped)
        before = entry.static_codes[slots]
        codes = self._first_codes(entry, cycle, nodes, self._node_filters, skipped, before)
        entry.codes[slots] = codes
        entry.ranked[slots[codes != 0]] = NOWHERE
        entry.left = None
        entry.recount()

    def _first_codes(
        self,
        entry: EquivalenceEntry,
        cycle: Cycle,
        nodes: Nodes,
        plugins: Sequence[tuple[int, Filter]],
        skipped: set[str],
        before: Codes | None = None,
    ) -> Codes:
        """Return the code of the first plugin that rejects, for each node; `before` has earlier codes."""
        codes = np.zeros(len(nodes), np.uint16) if before is None else before.copy()
        for rank, plugin in plugins:
            if plugin.name not in skipped:
                self.reject(entry, cycle, nodes, codes, rank, plugin)
        return codes

    def reject(
        self, entry: EquivalenceEntry, cycle: Cycle, nodes: Nodes, codes: Codes, rank: int, plugin: Filter
    ) -> None:
        """Write the codes of one plugin over later ones; earlier plugins take precedence."""
        open_places: Ids | None = None
        if codes.any():
            open_places = np.flatnonzero(entry.ranks[codes] > rank).astype(np.int32)
            if not len(open_places):
                return
        asked = nodes if open_places is None or len(open_places) == len(nodes) else nodes.take(open_places)
        verdicts = self._runner.filter_nodes(plugin, cycle, asked)
        if not verdicts.codes.any():
            return
        try:
            found = entry.codes_for(verdicts.rejections, rank)[verdicts.codes]
        except IndexError as error:
            text = "its verdicts contain a code without a rejection"
            raise failure('running "{}" filter plugin: {}', plugin, text) from error
        if asked is nodes:
            np.copyto(codes, found, where=found != 0)
        else:
            assert open_places is not None
            rejected = found != 0
            codes[open_places[rejected]] = found[rejected]

    def _filter_one(self, entry: EquivalenceEntry, cycle: Cycle, slot: int, skipped: set[str]) -> None:
        code = int(entry.static_codes[slot])
        limit = int(entry.ranks[code])
        node = self._columns.infos[slot]
        for rank, plugin in self._node_filters:
            if rank > limit:
                break
            if plugin.name not in skipped:
                try:
                    rejection = plugin.filter(cycle, cycle.pod, node)
                except Exception as error:
                    raise failure('running "{}" filter plugin: {}', plugin, error) from error
                if rejection is not None:
                    if not isinstance(rejection, Rejection):
                        raise failure('running "{}" filter plugin: {}', plugin, unexpected(rejection))
                    code = entry.code(rejection.by(plugin.name), rank)
                    break
        was = int(entry.codes[slot])
        if bool(was) != bool(code):
            entry.rejected += 1 if code else -1
            entry.left = None
        if was != code:
            entry.codes[slot] = code
        if code:
            entry.ranked[slot] = NOWHERE

    def _score(
        self, entry: EquivalenceEntry, cycle: Cycle, nodes: Nodes, skipped: frozenset[str], *, static: bool
    ) -> None:
        entry.uniform = {} if nodes is cycle.nodes else entry.uniform
        if static:
            entry.static_scored[nodes.slots] = False
        left = entry.codes[nodes.slots] == 0
        if not left.all():
            nodes = nodes.take(left)
        if not len(nodes):
            return
        slots = nodes.slots
        self._score_static(entry, cycle, nodes, skipped)
        weighed = self._weighed(entry, cycle, nodes, self._node_scores, skipped)
        weighed += entry.static_absolute[slots]
        entry.absolute[slots] = weighed
        entry.ranked[slots] = weighed

    def _score_static(self, entry: EquivalenceEntry, cycle: Cycle, nodes: Nodes, skipped: frozenset[str]) -> None:
        """Compute missing scores that depend only on the node object."""
        known = entry.static_scored[nodes.slots]
        if known.all():
            return
        if known.any():
            nodes = nodes.take(~known)
        entry.static_absolute[nodes.slots] = self._weighed(entry, cycle, nodes, self._static_scores, skipped)
        entry.static_scored[nodes.slots] = True

    def _weighed(
        self, entry: EquivalenceEntry, cycle: Cycle, nodes: Nodes, plugins: Iterable[Score], skipped: frozenset[str]
    ) -> Ints:
        total = np.zeros(len(nodes), np.int64)
        for plugin in plugins:
            if plugin.name in skipped:
                continue
            scores = self._runner.score_nodes(plugin, cycle, nodes)
            if isinstance(scores, int):
                scores = np.full(len(nodes), scores, np.int64)
            if plugin.normalize is not None:
                entry.keep_raw(plugin.name, nodes, scores)
            else:
                check_range(plugin, scores)
                total += scores * self._runner.plugin_set.weights[plugin.name]
        return total

    def _score_one(self, entry: EquivalenceEntry, cycle: Cycle, slot: int, skipped: frozenset[str]) -> None:
        if entry.codes[slot]:
            return
        if not entry.static_scored[slot]:
            self._score_static(entry, cycle, Nodes(self._columns, np.array([slot], np.int32)), skipped)
        node, total = self._columns.infos[slot], int(entry.static_absolute[slot])
        for plugin in self._node_scores:
            if plugin.name in skipped:
                continue
            try:
                score = plugin.score(cycle, cycle.pod, node)
            except Exception as error:
                raise failure('running Score plugins: plugin "{}" failed with: {}', plugin, error) from error
            if not isinstance(score, int | np.integer):
                raise failure('running Score plugins: plugin "{}" failed with: {}', plugin, unexpected(score))
            if plugin.normalize is not None:
                entry.raw[plugin.name][slot] = score
                if entry.uniform.get(plugin.name) != score:
                    entry.uniform[plugin.name] = None
            else:
                if not 0 <= score <= MAX_SCORE:
                    check_range(plugin, np.array([score]))
                total += score * self._runner.plugin_set.weights[plugin.name]
        entry.absolute[slot] = entry.ranked[slot] = total


def _class_key(pod: Pod) -> Hashable:
    labels, annotations = frozenset(pod.labels.items()), frozenset(pod.annotations.items())
    return pod.shape, pod.namespace, labels, annotations, pod.priority, pod.metadata.owner_references


class _Epoch:
    """What the cached results of a plugin depend on, besides nodes and pods."""

    __slots__ = ("asks", "plugin", "reads")

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self.asks = type(plugin).epoch is not Plugin.epoch
        self.reads = plugin.reads


def _has_epoch(plugin: Plugin) -> bool:
    return bool(plugin.reads) or type(plugin).epoch is not Plugin.epoch


def _epochs(several: Iterable[_Epoch], cycle: Cycle) -> tuple[int, ...]:
    numbers: list[int] = []
    for each in several:
        if each.asks:
            try:
                numbers.append(each.plugin.epoch(cycle))
            except Exception as error:
                raise failure('asking plugin "{}" for its epoch: {}', each.plugin, error) from error
        if each.reads:
            numbers.append(cycle.objects.version(*each.reads))
    return tuple(numbers)
