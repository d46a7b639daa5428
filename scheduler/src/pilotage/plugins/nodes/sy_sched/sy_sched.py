"""SySched: places pods beside others with the same system calls."""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, StrictStr

from pilotage.framework.api.caching import NODE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.node_facts import NodeFacts
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.plugin import Score
from pilotage.framework.api.scoring import by_maximum_reversed
from pilotage.kinds.seccomp_profile import SeccompProfile
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.sy_sched.syscall_sets import Calls, Profile, SyscallSets

DEFAULT_NAMESPACE, DEFAULT_NAME = "default", "all-syscalls"

Host = tuple[Calls, int, int]  # the union of all calls, the number of pods, the sum of their numbers of calls


class SySched(Score):
    """Prefer nodes whose pods use the same system calls, so that pods are exposed to few additional ones."""

    default_profile_namespace: Annotated[StrictStr, AfterValidator(lambda given: given or DEFAULT_NAMESPACE)] = Field(
        default=DEFAULT_NAMESPACE, description="The namespace of the SeccompProfile for pods that name none."
    )
    default_profile_name: Annotated[StrictStr, AfterValidator(lambda given: given or DEFAULT_NAME)] = Field(
        default=DEFAULT_NAME, description="The name of that SeccompProfile."
    )

    caching = Caching(NODE)
    retry_on = ()
    reads = (SeccompProfile,)
    normalize = by_maximum_reversed

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._sets: tuple[Objects, int, SyscallSets] | None = None
        self._hosts: NodeFacts[Host] = NodeFacts()
        self._told: set[Profile] = set()  # missing profiles, already logged

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the number of excess calls: for the pod those of other pods, for the others those beyond their own."""
        sets = self._sets_of(cycle.objects)
        calls = sets.of_pod(pod)
        if not calls or not node.pods:
            return _alone(calls)
        others = [sets.of_pod(other) for other in node.pods.values()]
        host = _union(others)
        return (host & ~calls).bit_count() + sum(((host | calls) & ~other).bit_count() for other in others)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes, from data that is kept until their pods or a profile change."""
        sets = self._sets_of(cycle.objects)
        calls = sets.of_pod(pod)
        if not calls:
            return _alone(calls)
        self._hosts.catch_up(cycle.nodes, sets)

        def host_of(node: NodeInfo) -> Host:
            others = [sets.of_pod(other) for other in node.pods.values()]
            return _union(others), len(others), sum(other.bit_count() for other in others)

        hosts = (self._hosts.of(node, host_of) for node in nodes)
        return np.fromiter((_excess_calls(calls, *host) for host in hosts), np.int64, len(nodes))

    def _sets_of(self, objects: Objects) -> SyscallSets:
        version = objects.version(SeccompProfile)
        if self._sets is None or self._sets[0] is not objects or self._sets[1] != version:
            default = self.default_profile_namespace, self.default_profile_name
            self._sets = objects, version, SyscallSets(objects, default, self._told)
        return self._sets[2]


def _alone(calls: Calls) -> int:
    """Return the score of a node without pods: all calls of the pod, instead of none.

    Otherwise empty nodes would win against all imperfect neighbours, and pods would be spread.
    """
    return calls.bit_count()


def _excess_calls(calls: Calls, host: Calls, pods: int, sizes: int) -> int:
    """Return the score of a node: each set is a subset of the union, so the sizes are enough."""
    if not pods:
        return _alone(calls)
    return (pods + 1) * (host | calls).bit_count() - calls.bit_count() - sizes


def _union(several: Iterable[Calls]) -> Calls:
    return reduce(or_, several, 0)
