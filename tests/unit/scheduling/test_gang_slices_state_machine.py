"""Any history of gangs that are decided about in slices: whatever happens between two of them, all or nothing holds."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kit.live_core import LiveCore
from kit.tiers import examples
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.scheduling import loop
from pilotage.scheduling.gangs import gang_turns
from pilotage.testing import make_pod

NODES = st.sampled_from(["n1", "n2", "n3"])
SIZES = st.sampled_from(["300m", "500m", "1"])
CPU = 1000  # of each node


class Gangs(RuleBasedStateMachine):
    """Rules are what users, nodes and other schedulers do between two slices; `step` is one slice."""

    def __init__(self) -> None:
        super().__init__()
        loop.LONGEST_BATCH, gang_turns.GRACE = 0.0, 0.0
        self.events = asyncio.new_event_loop()
        self.live: LiveCore = self.run(self._start())
        self.nodes: dict[str, Node] = {}
        self.count = 0
        self.told: set[str] = set()  # uids of the pods whose bind was seen
        self.needed: dict[str, int] = {}  # by gang
        self.gone: Counter[str] = Counter()  # by gang

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.events.run_until_complete(work)

    async def _start(self) -> LiveCore:
        return LiveCore(Coscheduling())

    async def _step(self, more: bool = False) -> bool:
        going_on = self.live.core.loop._batch()
        for _ in range(8 if more else 1):
            await asyncio.sleep(0)
        return going_on

    @rule(name=NODES)
    def add_node(self, name: str) -> None:
        if name not in self.nodes:
            self.nodes[name] = self.live.add_node(name, cpu="1")

    @rule(name=NODES)
    def remove_node(self, name: str) -> None:
        if name in self.nodes:
            self.live.core.nodes.deleted(self.nodes.pop(name))
            self.needed.clear()  # a pod that was about to be bound there goes back alone, long after the decision

    @rule(count=st.integers(2, 5), beyond=st.integers(0, 1), cpu=SIZES, priority=st.sampled_from([0, 10]))
    def create_gang(self, count: int, beyond: int, cpu: str, priority: int) -> None:
        self.count += 1
        gang = f"gang-{self.count}"
        self.needed[gang] = count
        labels = {NAME_LABEL: gang, MIN_LABEL: str(count)}
        for number in range(count + beyond):
            name = f"{gang}-{number}"
            self.live.create(make_pod(name, uid=name, labels=labels, cpu=cpu, priority=priority))

    @rule(cpu=SIZES, priority=st.sampled_from([0, 5]))
    def create_pod(self, cpu: str, priority: int) -> None:
        self.count += 1
        self.live.create(make_pod(f"p-{self.count}", uid=f"p-{self.count}", cpu=cpu, priority=priority))

    @rule(node=NODES, cpu=SIZES)
    def another_scheduler_binds(self, node: str, cpu: str) -> None:
        self.count += 1
        if node in self.nodes and self._used(node) + make_pod(cpu=cpu).requests["cpu"] <= CPU:
            self.live.create(make_pod(f"f-{self.count}", uid=f"f-{self.count}", cpu=cpu, node=node))

    @rule(which=st.integers(0, 30))
    def delete_pod(self, which: int) -> None:
        pods = list(self.live.api.pods.values())
        if which < len(pods):
            self._delete(pods[which])

    def _delete(self, pod: Pod) -> None:
        self.gone[pod.name.rpartition("-")[0]] += 1
        self.live.delete(pod)

    @rule(count=st.integers(1, 12))
    def step(self, count: int) -> None:
        for _ in range(count):
            self.run(self._step())
        self._confirm()

    @rule()
    def let_time_pass(self) -> None:
        queue: Any = self.live.core.queue
        clock = queue._clock
        queue._clock = queue._backing_off._clock = lambda: clock() + 30
        queue.tick()
        self._follow_evictions()

    def _used(self, node: str) -> int:
        """Return what is asked for of a node by pods that have it, as the API server and our own nominations say."""
        info = self.live.core.cache.find_node(node)
        hidden = self.live.core.cache._hidden.values()
        there = [pod for pod in (*(info.pods.values() if info else ()), *hidden) if pod.node_name == node]
        return sum(pod.requests["cpu"] for pod in there)

    def _confirm(self) -> None:
        """Let the API server tell of the binds that were sent."""
        for name, node in self.live.api.binds[len(self.told) :]:
            self.told.add(name)
            pod = self.live.api.pods.get(f"default/{name}")
            if pod is not None:
                assert not pod.node_name, f"{name} was bound twice"
                self.live.change(pod, make_bound(pod, node))

    def _follow_evictions(self) -> None:
        for name in set(self.live.api.evictions):
            pod = self.live.api.pods.get(f"default/{name}")
            if pod is not None:
                self._delete(pod)

    @invariant()
    def nobody_is_bound_twice(self) -> None:
        binds = Counter(name for name, _ in self.live.api.binds)
        assert not [name for name, times in binds.items() if times > 1]

    @invariant()
    def a_gang_is_bound_as_a_whole_or_not_at_all(self) -> None:
        if self.live.core.loop._turns.is_busy:
            return  # its pods are told one by one
        bound = Counter(name.rpartition("-")[0] for name, _ in self.live.api.binds)
        started = Counter(uid.rpartition("-")[0] for uid in self.live.core.bindings._tasks)
        for gang, needed in self.needed.items():
            if bound[gang]:
                assert bound[gang] + started[gang] + self.gone[gang] >= needed

    @invariant()
    def between_decisions_everything_is_as_the_api_server_says(self) -> None:
        if self.live.core.loop._turns.is_busy:
            return
        assert self.live.core.cache._hidden == {}
        for name in self.nodes:
            there = self.live.core.cache.find_node(name)
            assert there is not None
            assert sum(pod.requests["cpu"] for pod in there.pods.values()) <= CPU
        for pod in self.live.api.pods.values():
            if pod.node_name:
                assert self.live.core.cache.find_pod(pod.uid) is not None
            elif pod.name not in self.told:
                assert self.live.place(pod) != "nowhere" or self.live.core.cache.is_assumed(pod.uid), pod.name
        exist = {pod.uid for pod in self.live.api.pods.values()}
        assert not [pod.name for pod in self.live.core.cache.pods() if pod.uid not in exist]

    def teardown(self) -> None:
        for _ in range(2_000):
            if not self.run(self._step(more=True)):
                break
            self._confirm()
        self.run(self._step(more=True))
        self._confirm()
        assert not self.live.core.loop._turns.is_busy
        self.between_decisions_everything_is_as_the_api_server_says()
        self.nobody_is_bound_twice()
        held = self.live.held()
        assert not held.keys() & {"assumed", "binding", "in flight"}, held
        for task in asyncio.all_tasks(self.events):
            task.cancel()
        self.events.close()


def make_bound(pod: Pod, node: str) -> Pod:
    cpu = f"{pod.requests['cpu']}m"
    return make_pod(pod.name, uid=pod.uid, node=node, cpu=cpu, priority=pod.priority, labels=dict(pod.labels))


TestGangs = Gangs.TestCase
TestGangs.settings = examples(40, stateful_step_count=40)
