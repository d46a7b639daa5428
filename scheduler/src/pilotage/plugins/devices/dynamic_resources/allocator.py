"""Allocates devices for the claims of a pod: which nodes have them, and which devices they are."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from pilotage.framework.api.nodes import Bools, Ids, Ints, Nodes
from pilotage.kinds.devices import Allocation, DeviceClass, ResourceClaim
from pilotage.model.node import Node
from pilotage.plugins.devices.dynamic_resources.answers import MOST_STEPS, TIMED_OUT, Answers, Budget
from pilotage.plugins.devices.dynamic_resources.claim_plans import PlanKey, Planner, plan_key
from pilotage.plugins.devices.dynamic_resources.error_texts import text_of
from pilotage.plugins.devices.dynamic_resources.inventory import Inventory
from pilotage.plugins.devices.dynamic_resources.node_states import NodeStates
from pilotage.plugins.devices.dynamic_resources.outcomes import (
    FAILED,
    AllocationFailed,
    Failure,
    NoSolution,
    Outcome,
    RequestReasons,
    Solution,
)
from pilotage.plugins.devices.dynamic_resources.plans import Plan
from pilotage.plugins.devices.dynamic_resources.reasons import reasons_of
from pilotage.plugins.devices.dynamic_resources.results import allocation_of
from pilotage.plugins.devices.dynamic_resources.usage import Usage

MOST_PLANS: Final = 256
MOST_OUTCOMES: Final = 100_000  # of all plans together


class NodeAnswers:
    """The outcome for each of many nodes: FITS, CANNOT_ALLOCATE, INVALID_POOLS or FAILED."""

    def __init__(self, ask: "Ask", nodes: Nodes, codes: Ids) -> None:
        self.unfinished: Bools = codes < 0  # out of time, which is a failure, too; the next question goes on from there
        if self.unfinished.any():
            codes = np.where(self.unfinished, FAILED, codes)
        self.codes = codes
        self._ask, self._nodes = ask, nodes

    def failure(self, place: int) -> str:
        """Return the error text of a node with FAILED."""
        return self._ask.failure(self._nodes[place].node, is_unfinished=bool(self.unfinished[place]))


class Ask:
    """The unallocated claims of one pod."""

    def __init__(self, allocator: "Allocator", claims: Sequence[ResourceClaim], answers: Answers) -> None:
        self.claims = claims
        self._allocator, self._answers = allocator, answers

    def on_nodes(self, nodes: Nodes) -> NodeAnswers:
        """Return the outcome for each node."""
        allocator = self._allocator
        numbers = allocator.states.read(nodes)
        codes = self._answers.codes(numbers, allocator.states, allocator.usage, allocator.budget())
        return NodeAnswers(self, nodes, codes)

    def on_node(self, node: Node) -> Solution | NoSolution:
        """Return the devices on one node, or raise AllocationFailed."""
        found = self._outcome(node)
        if isinstance(found, Failure):
            raise AllocationFailed(self._text(found, node))
        return found

    def raw_scores(self, nodes: Nodes) -> Ints:
        """Return how good the chosen alternatives are on each node: eight less the index of each, summed up."""
        self.on_nodes(nodes)
        return self._answers.scores(self._allocator.states.read(nodes))

    def allocations(self, node: Node) -> list[Allocation]:
        """Return what each claim gets on a node, in the order of the claims, or raise AllocationFailed."""
        found = self.on_node(node)
        if isinstance(found, NoSolution):
            raise AllocationFailed(found.text)
        allocator = self._allocator
        views = allocator.inventory.view(node).in_order()
        each = zip(self.claims, self._answers.plan.claims, found.picks, strict=True)
        return [allocation_of(claim, plan, picks, views, node, allocator.device_class) for claim, plan, picks in each]

    def explain(self, node: Node) -> list[RequestReasons]:
        """Return for each request how many devices there are on a node, and why they cannot be used."""
        view, plan = self._allocator.inventory.view(node), self._answers.plan
        plan.meter.left = MOST_STEPS
        return reasons_of(plan, self.claims, view.states(self._allocator.usage))

    def failure(self, node: Node, *, is_unfinished: bool = False) -> str:
        """Return the text of the error on a node; "" if there is none now."""
        found = TIMED_OUT if is_unfinished else self._outcome(node)
        return self._text(found, node) if isinstance(found, Failure) else ""

    def _outcome(self, node: Node) -> Outcome:
        allocator = self._allocator
        view = allocator.inventory.view(node)
        if view.trouble:
            return Failure((view.trouble,))
        return self._answers.outcome(view.states(allocator.usage), allocator.budget())

    def _text(self, failure: Failure, node: Node) -> str:
        return text_of(failure, node, self.claims, self._allocator.inventory.view(node).in_order())


class Allocator:
    """Answers for pods; equal claims are searched once."""

    def __init__(
        self,
        inventory: Inventory,
        usage: Usage,
        device_class: Callable[[str], DeviceClass | None],
        filter_timeout: float | None,
    ) -> None:
        self.inventory, self.usage, self.device_class = inventory, usage, device_class
        self.states = NodeStates(inventory, usage)
        self._timeout = filter_timeout or None
        self._answers: OrderedDict[PlanKey, Answers] = OrderedDict()

    def ask(self, claims: Sequence[ResourceClaim]) -> Ask:
        """Return the answers for the unallocated claims of a pod, in their order."""
        key = plan_key(claims, self.device_class)
        known = self._answers.get(key)
        if known is None:
            self._make_room()
            known = self._answers[key] = Answers(Plan(Planner(self.device_class).plan(claims)))
        else:
            self._answers.move_to_end(key)
        return Ask(self, claims, known)

    def budget(self) -> Budget:
        """Return the work that one question may cost."""
        return Budget(self._timeout)

    def _make_room(self) -> None:
        total = sum(map(len, self._answers.values()))
        while self._answers and (total > MOST_OUTCOMES or len(self._answers) >= MOST_PLANS):
            _, dropped = self._answers.popitem(last=False)
            total -= len(dropped)
