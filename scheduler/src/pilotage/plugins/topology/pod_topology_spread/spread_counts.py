"""Counts pods by domain for the hard and soft constraints of one pod."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import ABSENT, Bools, Ids, Ints, NodeInfo, Nodes
from pilotage.framework.api.spreading import HOSTNAME, Spreads, matching_pods
from pilotage.framework.api.verdicts import FITS, Codes
from pilotage.model.pod import Pod
from pilotage.plugins.topology.pod_topology_spread.domain_layout import Layout

Floats = NDArray[np.float64]

MISSING_LABEL, TOO_UNEVEN = 1, 2  # codes of verdicts


class HardCounts:
    """The number of matching pods in each domain for each hard constraint; can be changed for a what-if."""

    __slots__ = ("_codes", "_smallest", "layout", "own", "spreads", "sums")

    def __init__(self, spreads: Spreads, layout: Layout, sums: Iterable[Ints], own: tuple[int, ...]) -> None:
        self.spreads = spreads
        self.layout = layout
        self.sums = list(sums)
        self.own = own  # 1 if the pod matches itself
        self._smallest: dict[int, int] = {}
        self._codes: dict[int, Codes] = {}

    @classmethod
    def of(cls, cycle: Cycle, pod: Pod, spreads: Spreads, layout: Layout) -> "HardCounts":
        """Count the placed pods."""
        matching = (matching_pods(cycle, pod.namespace, spread.selector) for spread in spreads)
        sums = [domains.sums(counts) for domains, counts in zip(layout.domains, matching, strict=True)]
        return cls(spreads, layout, sums, tuple(int(spread.selector.matches(pod.labels)) for spread in spreads))

    def clone(self) -> "HardCounts":
        """Return a copy that can be changed."""
        return HardCounts(self.spreads, self.layout, (sums.copy() for sums in self.sums), self.own)

    def change(self, other: Pod, node: NodeInfo, difference: int) -> None:
        """Add or remove another pod of the namespace; here even a terminating one counts, as in kube-scheduler."""
        for place, (spread, domains) in enumerate(zip(self.spreads, self.layout.domains, strict=True)):
            domain = domains.counted[node.slot]
            if domain != ABSENT and spread.selector.matches(other.labels):
                self.sums[place][domain] += difference
                self._smallest.pop(place, None)
                self._codes.pop(place, None)

    def skew(self, place: int, domain: int) -> int:
        """Return the skew of a domain with the pod in it, relative to the smallest domain."""
        return int(self.sums[place][domain]) + self.own[place] - self.smallest(place)

    def skews(self, place: int, nodes: Nodes) -> Ints:
        """Return the same for the domains of many nodes."""
        skews: Ints = self.sums[place][nodes.at(self.layout.domains[place].ids)] + (
            self.own[place] - self.smallest(place)
        )
        return skews

    def smallest(self, place: int) -> int:
        """Return the number of pods in the smallest domain; 0 if there are fewer domains than minDomains."""
        smallest = self._smallest.get(place)
        if smallest is None:
            present = self.layout.domains[place].present
            enough = len(present) >= max(1, self.spreads[place].min_domains)
            smallest = self._smallest[place] = int(self.sums[place][present].min()) if enough else 0
        return smallest

    def violation(self, node: NodeInfo) -> str:
        """Return what the first violated constraint compares on a node, for people; "" if none is violated."""
        for place, spread in enumerate(self.spreads):
            key = spread.topology_key
            if key not in node.labels:
                return f"no label {key}"
            skew = self.skew(place, self.layout.domain(place, node))
            if skew > spread.max_skew:
                return f"{self._compared(place, f'{key}={node.labels[key]}', skew)}; maxSkew is {spread.max_skew}"
        return ""

    def _compared(self, place: int, domain: str, skew: int) -> str:
        smallest, present = self.smallest(place), len(self.layout.domains[place].present)
        here = f"{domain} would have {skew + smallest}"
        if present < self.spreads[place].min_domains:
            return f"{here}, with {present} of minDomains {self.spreads[place].min_domains}"
        return f"{here}, the smallest domain has {smallest}"

    def codes(self, nodes: Nodes) -> Codes:
        """Return for each node the verdict of the first violated constraint."""
        ids = [nodes.at(domains.ids) for domains in self.layout.domains]
        codes = self._codes_by_domain(0)[ids[0]]
        for place in range(1, len(ids)):
            np.copyto(codes, self._codes_by_domain(place)[ids[place]], where=codes == FITS)
        return codes

    def _codes_by_domain(self, place: int) -> Codes:
        codes = self._codes.get(place)
        if codes is None:
            allowed = self.spreads[place].max_skew + self.smallest(place) - self.own[place]
            codes = self._codes[place] = (self.sums[place] > allowed).astype(np.uint16) * np.uint16(TOO_UNEVEN)
            codes[ABSENT] = MISSING_LABEL
        return codes


class SoftCounts:
    """The number of matching pods in each domain for each soft constraint, on each node for hostnames, and weights."""

    __slots__ = ("by_slot", "layout", "spreads", "sums", "weights")

    def __init__(self, cycle: Cycle, pod: Pod, spreads: Spreads, layout: Layout, nodes: Nodes) -> None:
        self.spreads = spreads
        self.layout = layout
        self.by_slot = [matching_pods(cycle, pod.namespace, spread.selector) for spread in spreads]
        self.sums = [
            np.empty(0, np.int64) if spread.topology_key == HOSTNAME else domains.sums(counts)
            for spread, domains, counts in zip(spreads, layout.domains, self.by_slot, strict=True)
        ]
        scored = nodes if layout.complete is None else nodes.take(nodes.at(layout.complete))
        # Otherwise many hostnames would outweigh few zones.
        self.weights = [
            math.log((len(scored) if spread.topology_key == HOSTNAME else domains.number_among(scored)) + 2)
            for spread, domains in zip(spreads, layout.domains, strict=True)
        ]

    def ignores(self, node: NodeInfo) -> bool:
        """Return whether a node cannot be scored because it lacks a topology key."""
        return self.layout.complete is not None and not self.layout.complete[node.slot]

    def ignored(self, nodes: Nodes) -> Bools | None:
        """Return the same for many nodes; None for none."""
        return None if self.layout.complete is None else ~nodes.at(self.layout.complete)

    def scores(self, nodes: Nodes) -> Floats:
        """Return for each node the weighted number of pods in its domains."""
        total = self._terms(0, nodes)
        for place in range(1, len(self.spreads)):
            total += self._terms(place, nodes)
        return total

    def _terms(self, place: int, nodes: Nodes) -> Floats:
        spread, ids = self.spreads[place], nodes.at(self.layout.domains[place].ids)
        if spread.topology_key == HOSTNAME:
            counts = self.by_slot[place]
            terms = self._weighed(place, np.zeros(len(nodes), np.int64) if counts is None else nodes.at(counts))
            terms[ids == ABSENT] = 0.0
            return terms
        by_domain = self._weighed(place, self.sums[place])
        by_domain[ABSENT] = 0.0
        return by_domain[ids]

    def _weighed(self, place: int, counts: Ints | Ids) -> Floats:
        weighed = np.multiply(counts, self.weights[place], dtype=np.float64)
        weighed += self.spreads[place].max_skew - 1
        return weighed


def rounded(scores: Floats) -> Ints:
    """Round non-negative numbers to integers, halves up."""
    halves = (scores + scores).astype(np.int64)  # doubling is exact
    return (halves + 1) >> 1
