"""Any history of a live scheduler: no pod lost or in two places, nothing bound twice or beyond a node, nothing held."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kit.binding_api import BindingApi
from kit.tiers import examples
from pilotage import app
from pilotage.app.core import Core, Outside, core
from pilotage.cluster.write.evictor import Evicted, NotEvicted
from pilotage.config.load import load
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import Permit
from pilotage.framework.api.verdicts import PluginFailed, Wait
from pilotage.model.pod import Pod
from pilotage.profiles import build_profiles
from pilotage.testing import decode_node, make_node, make_pod, node_manifest

NAMES = st.sampled_from("abcdefgh")
NODES = st.sampled_from(["n1", "n2", "n3"])
CPU = 1000  # of each node


class Hold(Permit):
    """Lets pods wait whose name says so."""

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Wait | None:
        return Wait(30.0) if pod.labels.get("waits") else None


class Api:
    """An API server in memory: what it has, and the bindings that it was asked for and has not answered."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.asked: dict[str, tuple[Pod, str, asyncio.Future[None]]] = {}  # by uid
        self.uids = 0
        self.bound_to: dict[str, str] = {}  # by uid, for ever
        self.conditions: dict[str, str] = {}

    def record(self, pod: Pod, *told: str, controller: str, once: bool = False) -> None:
        """Believe it."""

    def condition(self, pod: Pod, reason: str, message: str, nominate: str | None = None) -> None:
        self.conditions[pod.uid] = reason

    def nominate(self, pod: Pod, node: str) -> None:
        """Believe it."""

    def drop(self, uid: str) -> bool:
        return False

    async def settled(self, uid: str) -> None:
        """Nothing is ever on its way."""

    async def evict(self, victim: Pod, scheduler: str) -> Evicted | NotEvicted:
        return NotEvicted("nobody is evicted here")

    async def post_binding(self, pod: Pod, node: str) -> None:
        assert pod.uid not in self.asked, "two binds of one pod at once"
        answer = asyncio.get_running_loop().create_future()
        self.asked[pod.uid] = pod, node, answer
        await answer


class LiveScheduler(RuleBasedStateMachine):
    """Rules are what the API server, the clock and other people do."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.now = 1_000_000.0
        self.nodes: set[str] = set()
        self.api = Api()
        self.core = self.run(self._start())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    async def _start(self) -> Core:
        catalogue, _ = app.plugins()
        catalogue.add(Hold, "this test")
        profiles = build_profiles(load(CONFIGURATION, catalogue), catalogue)
        outside = Outside(self.api.pods.get, self.api, self.api, self.api, api=BindingApi(self.api.post_binding))
        return core(profiles, outside, clock=lambda: self.now, seed=0)

    async def _settle(self) -> None:
        """Let the loop do what it can do now."""
        self.core.queue.tick()
        while self.core.loop._batch():
            pass
        for _ in range(8):
            await asyncio.sleep(0)

    # ------------------------------------------------------------------------------------------ what others do

    @initialize()
    def begin(self) -> None:
        self.add_node("n1")

    @rule(name=NODES)
    def add_node(self, name: str) -> None:
        if name not in self.nodes:
            self.nodes.add(name)
            self.api.uids += 1
            manifest = node_manifest(name, fake=False, cpu="1", memory="1Gi")
            manifest["metadata"]["uid"] = f"node-{self.api.uids}"
            self.core.nodes.added(decode_node(manifest))

    @rule(name=NODES)
    def delete_node(self, name: str) -> None:
        if name in self.nodes:
            self.nodes.discard(name)
            self.core.nodes.deleted(make_node(name, cpu="1", memory="1Gi"))

    @rule(name=NAMES, cpu=st.sampled_from(["100m", "400m", "600m", "2"]), waits=st.booleans(), mine=st.booleans())
    def create_pod(self, name: str, cpu: str, *, waits: bool, mine: bool) -> None:
        if f"default/{name}" in self.api.pods:
            return
        self.api.uids += 1
        pod = make_pod(
            name,
            uid=f"u{self.api.uids}",
            cpu=cpu,
            labels={"waits": "yes"} if waits else {},
            scheduler="default-scheduler" if mine else "somebody-elses",
        )
        self.api.pods[pod.key] = pod
        self.core.pods.added(pod)

    @rule(name=NAMES)
    def delete_pod(self, name: str) -> None:
        pod = self.api.pods.pop(f"default/{name}", None)
        if pod is not None:
            self.core.pods.deleted(pod)

    @rule()
    def schedule(self) -> None:
        self.run(self._settle())

    @rule(seconds=st.sampled_from([0.5, 2.0, 12.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(data=st.data(), allow=st.booleans())
    def decide_about_a_waiting_pod(self, data: st.DataObject, *, allow: bool) -> None:
        waiting = list(self.core.waiting)
        if waiting:
            one = data.draw(st.sampled_from(waiting))
            if allow:
                one.allow("Hold")
            else:
                one.reject("Hold", "no")
            self.run(self._settle())

    @precondition(lambda self: self.api.asked)
    @rule(data=st.data(), early=st.booleans())
    def answer_a_bind(self, data: st.DataObject, *, early: bool) -> None:
        pod, node, answer = self._take(data)
        now = self.api.pods.get(pod.key)
        if now is None or now.uid != pod.uid:
            answer.set_exception(PluginFailed("not found"))
        else:
            assert pod.uid not in self.api.bound_to, "bound twice"
            self.api.bound_to[pod.uid] = node
            bound = now.on(node)
            self.api.pods[pod.key] = bound
            if early:  # the watch is faster than the answer
                self.core.pods.updated(now, bound)
            answer.set_result(None)
            self.run(self._settle())
            if not early:
                self.core.pods.updated(now, bound)
        self.run(self._settle())

    @precondition(lambda self: self.api.asked)
    @rule(data=st.data())
    def refuse_a_bind(self, data: st.DataObject) -> None:
        _, _, answer = self._take(data)
        answer.set_exception(PluginFailed("the server is angry"))
        self.run(self._settle())

    @precondition(lambda self: self.api.asked)
    @rule(data=st.data(), node=NODES)
    def somebody_else_binds_it_first(self, data: st.DataObject, node: str) -> None:
        pod, _, answer = self._take(data)
        now = self.api.pods.get(pod.key)
        if now is not None and now.uid == pod.uid:
            bound = now.on(node)
            self.api.pods[pod.key] = bound
            self.api.bound_to[pod.uid] = node
            self.core.pods.updated(now, bound)
        answer.set_exception(PluginFailed("already assigned"))
        self.run(self._settle())

    def _take(self, data: st.DataObject) -> tuple[Pod, str, "asyncio.Future[None]"]:
        uid = data.draw(st.sampled_from(sorted(self.api.asked)))
        return self.api.asked.pop(uid)

    # ------------------------------------------------------------------------------------- what must always hold

    @invariant()
    def every_pod_of_ours_is_in_exactly_one_place(self) -> None:
        waiting = {queued.pod.uid for queued in self.core.queue}
        binding = set(self.core.bindings._tasks)
        assert not waiting & binding
        for pod in self.api.pods.values():
            if pod.scheduler_name == "default-scheduler" and not pod.node_name:
                assert (pod.uid in waiting) != (pod.uid in binding), f"{pod} is lost, or in two places"
            else:
                assert pod.uid not in waiting
        known = {pod.uid for pod in self.api.pods.values()}
        assert waiting <= known, "a pod that is gone still waits"

    @invariant()
    def places_are_held_only_for_pods_that_are_being_bound(self) -> None:
        assumed = set(self.core.cache._assumed)
        assert assumed <= set(self.core.bindings._tasks) | set(self.api.bound_to)
        for pod in self.api.pods.values():
            if pod.node_name:
                counted = self.core.cache.find_pod(pod.uid)
                assert counted is not None
                assert counted.node_name == pod.node_name

    @invariant()
    def no_node_is_given_more_than_it_has_by_us(self) -> None:
        for name in self.nodes:
            info = self.core.cache.find_node(name)
            assert info is not None
            ours = [pod for pod in info.pods.values() if self.api.bound_to.get(pod.uid, name) == name]
            by_us = [pod for pod in ours if self.core.cache.is_assumed(pod.uid)]
            assert not by_us or info.requested.get("cpu", 0) <= CPU or len(ours) > len(by_us)

    def teardown(self) -> None:
        """Answer everything; then every pod that fits is bound, and nothing is held for anybody."""
        for _ in range(60):
            for waiting in self.core.waiting:
                waiting.allow("Hold")
            for uid in sorted(self.api.asked):
                pod, node, answer = self.api.asked.pop(uid)
                now = self.api.pods.get(pod.key)
                if now is None or now.uid != uid:
                    answer.set_exception(PluginFailed("not found"))
                    continue
                assert uid not in self.api.bound_to
                self.api.bound_to[uid] = node
                self.api.pods[pod.key] = now.on(node)
                self.core.pods.updated(now, self.api.pods[pod.key])
                answer.set_result(None)
            self.now += 11
            self.run(self._settle())
        assert not len(self.core.bindings)
        assert not self.core.cache._assumed
        assert not len(self.core.waiting)
        assert not +self.core.queue.in_flight_counts()
        for queued in self.core.queue:
            assert not self._fits(queued.pod), f"{queued.pod} waits though it fits"
        self.loop.close()

    def _fits(self, pod: Pod) -> bool:
        free = [self.core.cache.find_node(name) for name in self.nodes]
        return any(info is not None and info.free("cpu") >= pod.requests["cpu"] for info in free)


CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Hold}]
      disabled: [{name: DefaultPreemption}]
"""

TestLiveScheduler = LiveScheduler.TestCase
TestLiveScheduler.settings = examples(200, stateful_step_count=40)
