"""Counters of placed pods by node: how many match a query, and which affinity terms they have."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import Generic, TypeVar

import numpy as np

from pilotage.cache.columns import Column, Columns
from pilotage.framework.api.nodes import Ids, NodeInfo
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.pods import CarriedTerm, Places, PodQuery, TermKind
from pilotage.kinds.workloads import Namespace
from pilotage.model.affinity import AffinityTerm, carried_terms
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelKey, LabelMatcher, Labels

MOST_QUERIES = 4096  # kept up to date; the least recently used one is evicted first
LONGEST_UNASKED = 300.0  # seconds: queries of unique pods are never asked again
DROPPED_AT_ONCE = 8  # for each new one
FEW_NODES = 16  # that need no arrays: one pod can have dozens of unique terms

Item = TypeVar("Item")
KindKey = tuple[str, frozenset[tuple[str, str]], bool]


class _ByLabel(Generic[Item]):
    """An index of label selectors: finds those that may select a pod's labels."""

    def __init__(self) -> None:
        self._exact: dict[tuple[str, str], dict[Item, None]] = {}
        self._others: dict[Item, None] = {}

    def add(self, item: Item, requirements: LabelKey | None) -> None:
        label = _only_label(requirements)
        place = self._others if label is None else self._exact.setdefault(label, {})
        place[item] = None

    def remove(self, item: Item, requirements: LabelKey | None) -> None:
        label = _only_label(requirements)
        place = self._others if label is None else self._exact.get(label, {})
        place.pop(item, None)
        if label is not None and not place:
            self._exact.pop(label, None)

    def candidates(self, labels: Labels) -> Iterator[Item]:
        """Yield the entries that may select these labels."""
        yield from tuple(self._others)
        for label in labels.items():
            yield from tuple(self._exact.get(label, ()))


class _Kind:
    """Pods with the same namespace and labels, which the same queries count."""

    __slots__ = ("_places", "key", "labels", "namespace", "nodes", "queries", "terminating")

    def __init__(self, pod: Pod, key: KindKey) -> None:
        self.key = key
        self.namespace, self.labels, self.terminating = pod.namespace, pod.labels, pod.is_terminating
        self.nodes: dict[NodeInfo, int] = {}
        self.queries: dict[_Query, None] = {}
        self._places: tuple[int, Ids, Ids] | None = None  # at a number of slot moves: slots, counts

    def count(self, info: NodeInfo, sign: int) -> int:
        self._places = None
        number = self.nodes[info] = self.nodes.get(info, 0) + sign
        if not number:
            del self.nodes[info]
        return number

    def write(self, column: Ids, moves: int) -> None:
        """Sum the pods by node; a pod with dozens of terms calls this dozens of times."""
        if len(self.nodes) <= FEW_NODES:
            for info, number in self.nodes.items():
                column[info.slot] += number
            return
        if self._places is None or self._places[0] != moves:
            slots = np.array([info.slot for info in self.nodes], np.int32)
            self._places = moves, slots, np.array(list(self.nodes.values()), np.int32)
        column[self._places[1]] += self._places[2]


class _Query:
    """A query that is kept up to date."""

    __slots__ = ("asked_at", "column", "conditions", "kinds", "query")

    def __init__(self, query: PodQuery, column: Column) -> None:
        self.query = query
        self.asked_at = 0.0  # in seconds of a monotonic clock
        self.column = column
        self.conditions = [(namespaces, LabelMatcher(key).matches) for namespaces, key in query.conditions]
        self.kinds: dict[_Kind, None] = {}

    def matches(self, kind: _Kind) -> bool:
        if self.query.without_terminating and kind.terminating:
            return False
        return all(
            (namespaces is None or kind.namespace in namespaces) and matches(kind.labels)
            for namespaces, matches in self.conditions
        )


class _Carried:
    """An affinity term of placed pods; gets a column once they are on more than a few nodes."""

    __slots__ = ("column", "few", "holders", "term")

    def __init__(self, term: AffinityTerm) -> None:
        self.term = term
        self.few: dict[NodeInfo, int] = {}
        self.column: Column | None = None
        self.holders = 0

    def count(self, info: NodeInfo, sign: int, columns: Columns) -> None:
        self.holders += sign
        if self.column is not None:
            self.column.data[info.slot] += sign
            return
        self.few[info] = self.few.get(info, 0) + sign
        if not self.few[info]:
            del self.few[info]
        elif len(self.few) > FEW_NODES:
            self.column = columns.new(np.int32)
            for each, number in self.few.items():
                self.column.data[each.slot] = number
            self.few.clear()

    def places(self, nodes: int) -> Places:
        if self.column is not None:
            return self.column.data[:nodes]
        return tuple((info.slot, number) for info, number in self.few.items())


class PlacedPods:
    """Implements `framework.pods.PlacedPods`."""

    def __init__(self, columns: Columns, infos: Sequence[NodeInfo], objects: Objects) -> None:
        self._columns = columns
        self._infos = infos
        self._objects = objects
        self._kinds: dict[KindKey, _Kind] = {}
        self._queries: dict[PodQuery, _Query] = {}  # the least recently used first
        self._queries_by_label: _ByLabel[_Query] = _ByLabel()
        self._carried: list[dict[AffinityTerm, _Carried]] = [{} for _ in TermKind]
        self._carried_by_label: list[_ByLabel[_Carried]] = [_ByLabel() for _ in TermKind]
        self.terms_version = 0
        self._terminating = columns.new(np.int32)
        self._claims: dict[tuple[str, str], dict[NodeInfo, int]] = {}  # how many pods on which node use each

    def add(self, info: NodeInfo, pod: Pod) -> None:
        """Add a pod."""
        self._count(info, pod, 1)

    def remove(self, info: NodeInfo, pod: Pod) -> None:
        """Remove a pod, given as it was added."""
        self._count(info, pod, -1)

    def counts(self, query: PodQuery) -> Ids:
        """Return how many pods of a query are on each node, by slot."""
        known, now = self._queries.pop(query, None), monotonic()
        if known is None:
            known = self._counted(query, now)
        known.asked_at = now
        self._queries[query] = known
        return known.column.data[: len(self._infos)]

    def terminating(self) -> Ids:
        """Return how many terminating pods are on each node, by slot."""
        return self._terminating.data[: len(self._infos)]

    def terms_about(self, pod: Pod, kind: TermKind) -> Sequence[CarriedTerm]:
        """Return the terms of placed pods that match a pod."""
        if not self._carried[kind]:
            return ()
        namespace = self._objects.get(Namespace, pod.namespace)
        labels: Labels = {} if namespace is None else namespace.metadata.labels
        nodes = len(self._infos)
        return [
            CarriedTerm(carried.term.topology_key, carried.term.weight, carried.places(nodes), nodes)
            for carried in self._carried_by_label[kind].candidates(pod.labels)
            if carried.term.matches(pod, labels)
        ]

    def claim_users(self, namespace: str, claim: str) -> int:
        """Return how many placed pods use a claim."""
        return sum(self._claims.get((namespace, claim), {}).values())

    def claim_nodes(self, namespace: str, claim: str) -> Sequence[NodeInfo]:
        """Return the nodes of the placed pods that use a claim."""
        return list(self._claims.get((namespace, claim), ()))

    def _count(self, info: NodeInfo, pod: Pod, sign: int) -> None:
        kind, spec = self._kind(pod), pod.shape.spec
        left = kind.count(info, sign)
        for query in kind.queries:
            query.column.data[info.slot] += sign
        if not left:
            self._forget_if_unused(kind)
        if pod.is_terminating:
            self._terminating.data[info.slot] += sign
        if spec.affinity is not None:
            self._count_terms(info, pod, sign)
        for volume in spec.volumes:
            if volume.persistent_volume_claim is not None:
                self._count_claim((pod.namespace, volume.persistent_volume_claim.claim_name), info, sign)

    def _count_claim(self, claim: tuple[str, str], info: NodeInfo, sign: int) -> None:
        users = self._claims.setdefault(claim, {})
        users[info] = users.get(info, 0) + sign
        if not users[info]:
            del users[info]
        if not users:
            del self._claims[claim]

    def _kind(self, pod: Pod) -> _Kind:
        key = pod.namespace, frozenset(pod.labels.items()), pod.is_terminating
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _Kind(pod, key)
            for query in self._queries_by_label.candidates(pod.labels):
                if query.matches(kind):
                    self._join(kind, query)
        return kind

    def _forget_if_unused(self, kind: _Kind) -> None:
        if not kind.nodes:
            for query in kind.queries:
                del query.kinds[kind]
            del self._kinds[kind.key]

    def _counted(self, query: PodQuery, now: float) -> _Query:
        """Start maintaining a query; only this scans all pods, by kind."""
        new = _Query(query, self._columns.new(np.int32))
        for kind in self._kinds.values():
            if new.matches(kind):
                self._join(kind, new)
                kind.write(new.column.data, self._columns.moves)
        self._queries_by_label.add(new, _selective(query))
        for oldest in list(islice(self._queries.values(), DROPPED_AT_ONCE)):
            if len(self._queries) >= MOST_QUERIES or now - oldest.asked_at > LONGEST_UNASKED:
                self._drop_oldest()
        return new

    def _drop_oldest(self) -> None:
        oldest = self._queries.pop(next(iter(self._queries)))
        self._queries_by_label.remove(oldest, _selective(oldest.query))
        for kind in oldest.kinds:
            del kind.queries[oldest]

    @staticmethod
    def _join(kind: _Kind, query: _Query) -> None:
        kind.queries[query] = None
        query.kinds[kind] = None

    def _count_terms(self, info: NodeInfo, pod: Pod, sign: int) -> None:
        terms = carried_terms(pod, info.labels)
        self._count_carried(info, TermKind.REQUIRED_AFFINITY, terms.required, sign)
        self._count_carried(info, TermKind.REQUIRED_ANTI_AFFINITY, terms.required_anti, sign)
        self._count_carried(info, TermKind.PREFERRED_AFFINITY, terms.preferred, sign)
        self._count_carried(info, TermKind.PREFERRED_ANTI_AFFINITY, terms.preferred_anti, sign)

    def _count_carried(self, info: NodeInfo, kind: TermKind, terms: Iterable[AffinityTerm], sign: int) -> None:
        for term in terms:
            carried = self._carried[kind].get(term)
            if carried is None:
                carried = self._carried[kind][term] = _Carried(term)
                self._carried_by_label[kind].add(carried, term.selector.requirements)
                self.terms_version += 1
            carried.count(info, sign, self._columns)
            if not carried.holders:
                del self._carried[kind][term]
                self.terms_version += 1
                self._carried_by_label[kind].remove(carried, term.selector.requirements)


def _only_label(requirements: LabelKey | None) -> tuple[str, str] | None:
    """Return a label that every selected object must have, if there is one."""
    for key, operator, values in requirements or ():
        if operator == "In" and len(values) == 1:
            return key, values[0]
    return None


def _selective(query: PodQuery) -> LabelKey | None:
    """Return the requirements of the condition to index a query by."""
    return query.conditions[0][1] if query.conditions else ()
