"""Any history of rejections: books that add up, holds that end, and no pod that waits for a node it would fit on."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kit.binding_api import BindingApi
from kit.live_core import FakeApi
from kit.tiers import examples
from pilotage.app.core import Core, Outside, core
from pilotage.framework.api.nodes import NodeInfo
from pilotage.model.kubelet_rejection import KubeletRejection
from pilotage.model.pod import DEFAULT_SCHEDULER, Pod
from pilotage.plugins.ordering.priority_sort import PrioritySort
from pilotage.plugins.pods.default_binder import DefaultBinder
from pilotage.plugins.resources.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.profiles import Profile
from pilotage.scheduling.sharing.race_guard import LONGEST_HOLD, Lingering
from pilotage.testing import decode_node, make_pod, node_manifest, plugin_set_of

NODES = st.sampled_from(["n1", "n2", "n3"])
CPU = st.sampled_from(["100m", "400m", "600m"])
RESOURCES = st.sampled_from(["cpu", "memory", "pods", "example.com/gpu", ""])
AMOUNTS = st.integers(0, 2000) | st.sampled_from([2**30, 2**63 - 1]) | st.none()


def owner(uid: str) -> dict[str, Any]:
    return {"ownerReferences": [{"kind": "ReplicaSet", "name": uid, "uid": uid, "controller": True}]}


class RacingScheduler(RuleBasedStateMachine):
    """Rules are what kubelets, another scheduler and the clock do."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.now, self.uids = 1_000_000.0, 0
        self.api = FakeApi()
        self.on_node: dict[str, Pod] = {}  # bound pods as the API has them, by uid
        self.plugins = NodeResourcesFit(), NodeResourcesBalancedAllocation()
        self.core = self.run(self._start())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    async def _start(self) -> Core:
        binder = DefaultBinder()
        profiles = {
            DEFAULT_SCHEDULER: Profile(DEFAULT_SCHEDULER, plugin_set_of(PrioritySort(), *self.plugins, binder), 0)
        }
        outside = Outside(self.api.pods.get, self.api, self.api, self.api, api=BindingApi(self.api.bind))
        # Nobody is woken just for having waited for long: that would hide a pod that is forgotten.
        return core(profiles, outside, clock=lambda: self.now, seed=0, longest_unschedulable=1e9)

    async def _settle(self) -> None:
        self.core.queue.tick()
        self.core.guard.tick()
        while self.core.loop._batch():
            pass
        for _ in range(8):
            await asyncio.sleep(0)
        for name, node in self.api.binds:
            self._show(self.api.pods[f"default/{name}"], node)
        self.api.binds.clear()

    def _show(self, pod: Pod, node: str) -> None:
        """Let the watch tell of a bind."""
        bound = pod.on(node)
        self.on_node[pod.uid] = self.api.pods[pod.key] = bound
        self.core.pods.updated(pod, bound)

    def _pod(self, cpu: str, **fields: Any) -> Pod:
        self.uids += 1
        return make_pod(f"p{self.uids}", uid=f"p{self.uids}", cpu=cpu, **fields)

    def _add(self, pod: Pod) -> None:
        self.api.pods[pod.key] = pod
        self.core.pods.added(pod)

    def _drop(self, pod: Pod) -> None:
        del self.on_node[pod.uid], self.api.pods[pod.key]
        self.core.pods.deleted(pod)

    # ------------------------------------------------------------------------------------------ what others do

    @initialize()
    def begin(self) -> None:
        self.add_node("n1")

    @rule(name=NODES)
    def add_node(self, name: str) -> None:
        if self.core.cache.find_node(name) is None:
            self.uids += 1
            manifest = node_manifest(name, fake=False, cpu="1", memory="1Gi", allocatable={"pods": "4"})
            manifest["metadata"]["uid"] = f"node-{self.uids}"
            self.core.nodes.added(decode_node(manifest))

    @rule(name=NODES)
    def delete_node(self, name: str) -> None:
        info = self.core.cache.find_node(name)
        if info is not None:
            self.core.nodes.deleted(info.node)

    @rule(cpu=CPU, of=st.sampled_from(["", "web", "db"]))
    def create_pod(self, cpu: str, of: str) -> None:
        self._add(self._pod(cpu, metadata=owner(of) if of else {}))
        self.run(self._settle())

    @rule(cpu=CPU, node=NODES)
    def others_bind(self, cpu: str, node: str) -> None:
        pod = self._pod(cpu, scheduler="another")
        self._add(pod)
        self._show(pod, node)
        self.run(self._settle())

    @precondition(lambda self: self.on_node)
    @rule(data=st.data())
    def a_pod_leaves(self, data: st.DataObject) -> None:
        self._drop(data.draw(st.sampled_from(list(self.on_node.values()))))
        self.run(self._settle())

    @precondition(lambda self: self.on_node)
    @rule(data=st.data(), resource=RESOURCES, used=AMOUNTS, capacity=AMOUNTS)
    def a_kubelet_rejects(self, data: st.DataObject, resource: str, used: int | None, capacity: int | None) -> None:
        pod = data.draw(st.sampled_from(list(self.on_node.values())))
        self._drop(pod)
        reason = f"OutOf{resource}" if resource else "NodePorts"
        self.core.guard.rejected(pod, KubeletRejection(reason, resource, 1, used, capacity))
        self.run(self._settle())

    @precondition(lambda self: self.on_node)
    @rule(data=st.data())
    def a_pod_starts(self, data: st.DataObject) -> None:
        old = data.draw(st.sampled_from(list(self.on_node.values())))
        status = {"startTime": "2026-01-01T00:00:00Z"}
        requests = {"cpu": f"{old.requests['cpu']}m"}
        new = make_pod(
            old.name, uid=old.uid, requests=requests, node=old.node_name, scheduler=old.scheduler_name, status=status
        )
        self.on_node[old.uid] = self.api.pods[old.key] = new
        self.core.pods.updated(old, new)
        self.run(self._settle())

    @rule(seconds=st.integers(1, 120))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        self.run(self._settle())

    # ------------------------------------------------------------------------------------------------ what must be

    @invariant()
    def the_books_add_up(self) -> None:
        for info in self.core.cache.nodes():
            believed = self.core.cache.believed(info.name)
            assert all(0 < amount <= info.allocatable.get(resource, 0) for resource, amount in believed.items())
            expected = dict(believed)
            for pod in info.pods.values():
                for resource, amount in pod.usage.items():
                    expected[resource] = expected.get(resource, 0) + amount
            assert {resource: amount for resource, amount in info.requested.items() if amount} == expected
            assert all(amount >= 0 for amount in info.requested.values())
            usual = [pod.nonzero_usage for pod in info.pods.values()]
            assert info.nonzero_cpu == sum(cpu for cpu, _ in usual) + believed.get("cpu", 0)
            assert info.nonzero_memory == sum(memory for _, memory in usual) + believed.get("memory", 0)

    @invariant()
    def one_node_and_many_nodes_get_the_same_answers(self) -> None:
        nodes = self.core.cache.nodes()
        for cpu in ("100m", "600m"):
            cycle_pod = make_pod("asked", cpu=cpu, memory="100Mi")
            fit, balanced = self.plugins
            cycle: Any = None
            verdicts = fit.filter_nodes(cycle, cycle_pod, nodes)
            for place, info in enumerate(nodes):
                assert bool(verdicts.codes[place]) is (fit.filter(cycle, cycle_pod, info) is not None)
            for plugin in (fit, balanced):
                found = np.broadcast_to(plugin.score_nodes(cycle, cycle_pod, nodes), len(nodes)).tolist()
                assert found == [plugin.score(cycle, cycle_pod, info) for info in nodes]

    @invariant()
    def every_hold_has_an_end(self) -> None:
        assert all(self.now < until <= self.now + LONGEST_HOLD for _, until in self.core.cache.holds)
        for info in self.core.cache.nodes():
            if self.core.cache.believed(info.name):
                assert any(
                    hold.whom == "belief" or isinstance(hold.whom, Lingering)
                    for hold in self.core.cache.holds.on(info.name)
                )

    def teardown(self) -> None:
        """Let time pass: nothing is held any more, and whoever still waits would not fit anywhere."""
        for _ in range(int(LONGEST_HOLD) + 25):
            self.now += 1
            self.run(self._settle())
        assert not self.core.cache.holds
        infos = list(self.core.cache.nodes())
        assert not any(self.core.cache.believed(info.name) for info in infos)
        for queued in self.core.queue:
            assert not any(_fits(queued.pod, info) for info in infos), f"{queued} waits for nothing"
        self.loop.close()


def _fits(pod: Pod, info: NodeInfo) -> bool:
    return len(info.pods) < info.node.allowed_pods and all(
        amount <= info.free(resource) for resource, amount in pod.requests.items()
    )


TestRacingScheduler = RacingScheduler.TestCase
TestRacingScheduler.settings = examples(60, stateful_step_count=40)
