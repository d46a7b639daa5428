"""The core of a live scheduler, and an API server in memory that keeps what it is told; for tests without a cluster."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from kit.binding_api import BindingApi
from pilotage.app.core import Core, Outside, core
from pilotage.cluster.write.evictor import Evicted, NotEvicted
from pilotage.config.sharing import OwnNodes, Sharing
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.handle import Api
from pilotage.framework.api.plugin import Permit, Plugin, PostBind, PreBind, Reserve
from pilotage.framework.runtime.own_nodes import NodesOfProfile
from pilotage.model.gangs import GangName
from pilotage.model.node import Node
from pilotage.model.pod import DEFAULT_SCHEDULER, Pod
from pilotage.plugins.nodes.node_unschedulable import NodeUnschedulable
from pilotage.plugins.nodes.taint_toleration import TaintToleration
from pilotage.plugins.ordering.priority_sort import PrioritySort
from pilotage.plugins.pods.default_binder import DefaultBinder
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.profiles import Profile
from pilotage.testing import decode_node, node_manifest, plugin_set_of

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


class Step(Reserve, Permit, PreBind, PostBind):
    """Takes part in everything around a binding, and answers as it is told; a future as an answer is waited for."""

    answers: Mapping[str, Any] = Field(default_factory=dict)
    said: Any = Field(default_factory=list)

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        """Say so."""
        return self._told("reserve")

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Say so."""
        self._told("unreserve")

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        """Say so."""
        return self._told("permit")

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        """Say so."""
        return self._told("pre_flight")

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> Any:
        """Say so."""
        answer = self._told("pre_bind")
        return await answer if isinstance(answer, asyncio.Future) else answer

    def post_bind(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Say so."""
        self._told("post_bind")

    def _told(self, step: str) -> Any:
        self.said.append(f"{self.name}.{step}")
        answer = self.answers.get(step)
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer


class One(Step):
    """The first."""


class Two(Step):
    """The second."""


class FakeApi:
    """What an API server would have and be told; `said` has all of it in order, and what plugins say, too."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.said: list[str] = []
        self.events: list[tuple[str, str, str, str, str]] = []  # pod, severity, reason, action, note
        self.conditions: list[tuple[str, str, str, str | None]] = []  # pod, reason, message, nominated node
        self.nominations: list[tuple[str, str]] = []
        self.binds: list[tuple[str, str]] = []
        self.evictions: list[str] = []
        self.groups: list[tuple[str, str, str]] = []  # group, reason, message
        self.answers: dict[str, Any] = {}  # to binds and evictions by pod: an outcome, an error or a future of them
        self.patches: dict[str, asyncio.Event] = {}  # on their way, by uid

    def record(
        self, pod: Pod, severity: str, reason: str, action: str, note: str, *, controller: str, once: bool = False
    ) -> None:
        """Keep an event."""
        assert controller == pod.scheduler_name or reason == "Preempted"
        self.events.append((pod.name, severity, reason, action, note))
        self.said.append(f"event {reason} {pod.name}")

    def condition(self, pod: Pod, reason: str, message: str, nominate: str | None = None) -> None:
        """Keep a condition."""
        self.conditions.append((pod.name, reason, message, nominate))
        self.said.append(f"condition {pod.name}")

    def nominate(self, pod: Pod, node: str) -> None:
        """Keep a nomination."""
        self.nominations.append((pod.name, node))
        self.said.append(f"nominate {pod.name}")

    def drop(self, uid: str) -> bool:
        """Tell whether a patch is on its way."""
        self.said.append("drop")
        return uid in self.patches

    async def settled(self, uid: str) -> None:
        """Wait for the patch."""
        await self.patches[uid].wait()
        self.said.append("settled")

    def scheduled(self, gang: GangName) -> None:
        """Keep it."""
        self.groups.append((gang.name, "Scheduled", ""))

    def waits(self, gang: GangName, reason: str, message: str) -> None:
        """Keep it."""
        self.groups.append((gang.name, reason, message))

    async def evict(self, victim: Pod, scheduler: str) -> Evicted | NotEvicted:
        """Answer as told, at once."""
        self.evictions.append(victim.name)
        self.said.append(f"evict {victim.name}")
        answer = await self._answer(victim.name)
        return Evicted() if answer is None else answer

    async def bind(self, pod: Pod, node: str) -> None:
        """Answer as told, at once."""
        self.binds.append((pod.name, node))
        self.said.append(f"bind {pod.name}")
        await self._answer(pod.name)

    async def _answer(self, name: str) -> Any:
        answer = self.answers.get(name)
        if isinstance(answer, asyncio.Future):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return answer


class LiveCore:
    """A scheduler whose queue has the time of the event loop, and whose pods and nodes come as they are told."""

    def __init__(
        self,
        *plugins: Plugin,
        may_act: Callable[[], bool] = lambda: True,
        scheduler: str = DEFAULT_SCHEDULER,
        sharing: Sharing | None = None,
        own_nodes: OwnNodes | None = None,
        plugin_api: Callable[[FakeApi], Api] = lambda api: BindingApi(api.bind),
        **options: Any,
    ) -> None:
        self.api = FakeApi()
        self.binder, self.preemption = DefaultBinder(), DefaultPreemption()
        usual = PrioritySort(), NodeUnschedulable(), TaintToleration(), NodeResourcesFit()
        sharing, own_nodes = sharing or Sharing(), own_nodes or OwnNodes()
        own = [] if own_nodes.matcher() is None else [NodesOfProfile(nodes=own_nodes)]
        plugin_set = plugin_set_of(*own, *usual, self.preemption, *plugins, self.binder)
        outside = Outside(self.api.pods.get, self.api, self.api, self.api, may_act, self.api, plugin_api(self.api))
        time = asyncio.get_running_loop().time
        profiles = {scheduler: Profile(scheduler, plugin_set, 0, sharing, own_nodes)}
        self.core: Core = core(profiles, outside, clock=lambda: 1_000_000 + time(), seed=0, **options)
        self._uids = 0

    def node(self, name: str = "n1", *, uid: str = "", **fields: Any) -> Node:
        """Return a node with one CPU, unless it is told otherwise."""
        self._uids += 1
        manifest = node_manifest(name, **{"fake": False, "cpu": "1", "memory": "1Gi", **fields})
        manifest["metadata"]["uid"] = uid or f"node-{self._uids}"
        return decode_node(manifest)

    def add_node(self, name: str = "n1", **fields: Any) -> Node:
        """Let a node appear."""
        node = self.node(name, **fields)
        self.core.nodes.added(node)
        return node

    def create(self, *pods: Pod) -> None:
        """Let pods appear."""
        for pod in pods:
            self.api.pods[pod.key] = pod
            self.core.pods.added(pod)

    def change(self, old: Pod, new: Pod) -> None:
        """Let a pod change."""
        self.api.pods[new.key] = new
        self.core.pods.updated(old, new)

    def delete(self, pod: Pod) -> None:
        """Let a pod go."""
        last = self.api.pods.pop(pod.key, pod)
        self.core.pods.deleted(last)

    async def settle(self) -> None:
        """Let everything happen that can happen now."""
        self.core.queue.tick()
        self.core.guard.tick()
        for _ in range(3):
            while self.core.loop._batch():
                pass
            for _ in range(10):
                await asyncio.sleep(0)

    def place(self, pod: Pod) -> str:
        """Return where a pod is: in a part of the queue, in flight, binding, or nowhere."""
        queued = self.core.queue.find(pod.key)
        if queued is not None:
            assert queued.place is not None
            return queued.place.name
        if pod.uid in self.core.bindings._tasks:
            return "binding"
        return "in flight" if self.core.queue.is_in_flight(pod.uid) else "nowhere"

    def held(self) -> dict[str, object]:
        """Return everything that is kept for pods under way; nothing if all of them have come to their end."""
        bindings, evictions = self.core.bindings, self.core.evictions
        kept: dict[str, object] = {
            "assumed": set(self.core.cache._assumed),
            "binding": dict(bindings._tasks),
            "preparing": dict(bindings._preparing),
            "waiting": [each.pod.key for each in self.core.waiting],
            "in flight": +self.core.queue.in_flight_counts(),
            "awaited victims": dict(evictions._awaited),
            "evicting": len(evictions),
            "gates": set(self.preemption._in_progress),
        }
        return {name: found for name, found in kept.items() if found}
