"""Whatever is tried and whatever fails, the cache is what it was: after each try, and at each turn for others.

Faults are raised by plugins, by the cache itself before or after it has done what it was told, and by those who run a
search: they end it at any turn, or throw something into it.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kit.cache_state import differences, full_state
from kit.remedy_scene import spread
from kit.tiers import examples
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.lower_requests import ask_for_less
from pilotage.framework.api.node_changes import with_facts
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, FollowsPods, PreFilter, Score
from pilotage.framework.api.remedies import Difference, Remedy
from pilotage.framework.api.verdicts import Filtered, PreFiltered, Rejection
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.pod_groups import PodGroup, PodGroupSpec
from pilotage.kinds.storage import PersistentVolume, PersistentVolumeClaim
from pilotage.kinds.workloads import PriorityClass
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.node_affinity.node_affinity import NodeAffinity
from pilotage.plugins.nodes.node_ports import NodePorts
from pilotage.plugins.nodes.node_unschedulable import NodeUnschedulable
from pilotage.plugins.nodes.taint_toleration import TaintToleration
from pilotage.plugins.ordering.priority_sort import PrioritySort
from pilotage.plugins.pods.inter_pod_affinity.inter_pod_affinity import InterPodAffinity
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.plugins.topology.pod_topology_spread.pod_topology_spread import PodTopologySpread
from pilotage.plugins.volumes.volume_binding.volume_binding import VolumeBinding
from pilotage.plugins.volumes.volume_restrictions import VolumeRestrictions
from pilotage.plugins.volumes.volume_zone import VolumeZone
from pilotage.scheduling.remedies import altered as module
from pilotage.scheduling.remedies import search, why_not
from pilotage.scheduling.remedies.altered import altered
from pilotage.scheduling.remedies.gang_search import _fitting
from pilotage.scheduling.remedies.trying import Tries
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod
from pilotage.testing.cluster import Nominations
from pilotage.testing.storage import make_claim, make_volume

ZONE = "topology.kubernetes.io/zone"
APPS = ["web", "db"]
TAINT = {"key": "team", "value": "b", "effect": "NoSchedule"}


class Interrupted(BaseException):
    """Comes from outside of the program, at any point."""


class Fault:
    """Raises something at the n-th occasion from now."""

    def __init__(self) -> None:
        self.left, self.what = 0, ValueError("nothing")

    def set(self, occasions: int, what: type[BaseException]) -> None:
        self.left, self.what = occasions, what("injected")  # type: ignore[assignment]

    def __call__(self) -> None:
        if self.left:
            self.left -= 1
            if not self.left:
                raise self.what


FAULT = Fault()


class Faulty(PreFilter, Filter, Score, FollowsPods):
    """Rejects some nodes, offers what may help, follows pods; and fails now and then, wherever it is called."""

    followed: ClassVar[dict[str, int]] = {}

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        FAULT()
        return None

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        FAULT()
        return Rejection("closed") if node.labels.get("closed") else None

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        FAULT()
        return len(node.pods)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        FAULT()
        opened = with_facts(nodes[0].node, labels={})
        yield Remedy(code="open", actor="admin", words="open it", difference=Difference(nodes=(opened,)))
        FAULT()

    def pod_placed(self, pod: Pod) -> None:
        self.followed[pod.uid] = self.followed.get(pod.uid, 0) + 1

    def pod_left(self, pod: Pod) -> None:
        self.followed[pod.uid] = self.followed.get(pod.uid, 0) - 1


@contextmanager
def faults_in(cluster: FakeCluster) -> Iterator[None]:
    """Let the cache itself fail, too: before it has done what it was told, or after. What takes changes back works."""
    cache, doing = cluster.cache, list[str]()

    def failing(method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any) -> Any:
            if doing:
                FAULT()
            found = method(*given)
            if doing:
                FAULT()
            return found

        return called

    def step(made: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any) -> None:
            doing.append("a change")
            try:
                made(*given)
            finally:
                doing.pop()

        return called

    with pytest.MonkeyPatch.context() as patched:
        for owner, name in ((cache, "put_node"), (cache, "put_pod"), (cache.objects, "put")):
            patched.setattr(owner, name, failing(getattr(owner, name)))
        for name in ("_put_object", "_put_node", "_put_pod"):
            patched.setattr(module, name, step(getattr(module, name)))
        patched.setattr(cache, "assume", step(failing(cache.assume)))
        try:
            yield
        finally:
            FAULT.left = 0


class Tried(RuleBasedStateMachine):
    """A cluster in which anything is tried."""

    @initialize(seed=st.integers(1, 5), pods=st.integers(0, 12))
    def fill(self, seed: int, pods: int) -> None:
        Faulty.followed.clear()
        FAULT.left = 0
        self.cluster = FakeCluster()
        plugins = (
            PrioritySort(),
            NodeUnschedulable(),
            TaintToleration(),
            NodeAffinity(),
            NodePorts(),
            NodeResourcesFit(),
            VolumeRestrictions(),
            VolumeBinding(),
            VolumeZone(),
            PodTopologySpread(),
            InterPodAffinity(),
            Faulty(),
            DefaultPreemption(),
        )
        self.engine = FakeScheduler(*plugins, cluster=self.cluster).engine
        self.numbers = 0
        for number in range(seed):
            self.node(number)
        for number in range(pods):
            self.place(number % 4, number)
        objects: list[KubeObject] = [
            make_claim("data", volume="pv"),
            make_volume("pv", labels={ZONE: "b"}, on={ZONE: ["b"]}),
            PriorityClass(Metadata("high"), 100),
            PodGroup(Metadata("train", "default"), PodGroupSpec(3)),
        ]
        for each in objects:
            self.cluster.cache.objects.put(each)
        self.cluster.cache.objects.note_trouble(PodGroup, "broken", "default", "minMember: no number")

    # ------------------------------------------------------------------------------------------- what really changes

    @rule(kind=st.integers(0, 5))
    def node(self, kind: int) -> None:
        self.numbers += 1
        labels = {ZONE: "ab"[kind % 2], "kubernetes.io/hostname": f"n{self.numbers}"} | (
            {"closed": "yes"} if kind == 3 else {}
        )
        taints = [TAINT] if kind == 4 else []
        self.cluster.cache.put_node(
            make_node(f"n{self.numbers}", cpu="4", labels=labels, taints=taints, unschedulable=kind == 5)
        )

    @rule(kind=st.integers(0, 4), on=st.integers(0, 30))
    def place(self, kind: int, on: int) -> None:
        infos = self.cluster.cache.columns.infos
        if infos:
            self.numbers += 1
            self.cluster.cache.put_pod(self.pod(f"p{self.numbers}", kind, infos[on % len(infos)].name))

    @rule(which=st.integers(0, 30))
    def remove(self, which: int) -> None:
        pods = self.cluster.cache.pods()
        if pods:
            self.cluster.cache.remove_pod(pods[which % len(pods)].uid)

    @rule(which=st.integers(0, 30))
    def remove_node(self, which: int) -> None:
        infos = self.cluster.cache.columns.infos
        if len(infos) > 1:
            self.cluster.cache.remove_node(infos[which % len(infos)].name)

    def pod(self, name: str, kind: int, on: str | None = None, cpu: str = "1") -> Pod:
        fields: dict[str, Any] = {"labels": {"app": APPS[kind % 2]}, "cpu": cpu, "node": on, "uid": name}
        term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": APPS[kind % 2]}}}
        if kind == 1:
            shunned = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            fields["affinity"] = {"podAntiAffinity": shunned}
        if kind == 2:
            fields |= {
                "host_ports": [8080],
                "metadata": {
                    "ownerReferences": [
                        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
                    ]
                },
            }
        if kind == 3:
            fields["spec"] = {
                "topologySpreadConstraints": [spread(ZONE)],
                "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}],
            }
        return make_pod(name, **fields)

    # --------------------------------------------------------------------------------------------------- what is tried

    occasions = st.integers(0, 60)
    faults = st.sampled_from([ValueError, Interrupted, KeyError])

    @contextmanager
    def unchanged(self, occasions: int, fault: type[BaseException]) -> Iterator[Callable[[], None]]:
        """Let something be tried with a fault on the way, and compare all of the state before and after it."""
        cache = self.cluster.cache
        before, followed = full_state(cache), dict(Faulty.followed)

        def check() -> None:
            assert not differences(before, full_state(cache))
            assert {uid: number for uid, number in Faulty.followed.items() if number} == {
                uid: number for uid, number in followed.items() if number
            }

        FAULT.set(occasions, fault)
        try:
            with faults_in(self.cluster):
                yield check
        except (Exception, Interrupted) as error:
            assert "injected" in str(error)  # noqa: PT017 - of any kind
        finally:
            FAULT.left = 0
        check()

    @rule(
        kind=st.integers(0, 3),
        cpu=st.sampled_from(["3", "9"]),
        occasions=occasions,
        fault=faults,
        turns=st.integers(0, 40),
    )
    def search(self, kind: int, cpu: str, occasions: int, fault: type[BaseException], turns: int) -> None:
        """Search beside a scheduler, up to some turn: at each turn the cluster is as it was."""
        pod = self.pod("waits", kind, cpu=cpu)
        with self.unchanged(occasions, fault) as check:
            steps = search(self.cluster.cache, self.engine, Nominations(self.cluster), pod)
            self.run(steps, turns, check)

    def run(self, steps: Generator[None, None, Any], turns: int, check: Callable[[], None]) -> None:
        for number, _ in enumerate(steps):
            FAULT.left, left = 0, FAULT.left
            check()
            FAULT.left = left
            if number == turns:
                if turns % 2:
                    steps.throw(Interrupted("injected"))
                steps.close()
                return

    @rule(
        cpu=st.sampled_from(["1", "3"]),
        number=st.integers(1, 6),
        occasions=occasions,
        fault=faults,
        turns=st.integers(0, 9),
    )
    def try_together(self, cpu: str, number: int, occasions: int, fault: type[BaseException], turns: int) -> None:
        """Let pods of a gang hold places, as in a copy: the cluster is as it was when that is over, however it ends."""
        pods = [self.pod(f"g{each}", each % 4, cpu=cpu) for each in range(number)]
        with self.unchanged(occasions, fault):
            tries = Tries(self.cluster.cache, self.engine, Nominations(self.cluster), pods[0])
            self.run(_fitting(tries, pods, number), turns, lambda: None)

    @rule(which=st.integers(0, 30), parts=st.sets(st.integers(0, 6), max_size=4), occasions=occasions, fault=faults)
    def alter(self, which: int, parts: set[int], occasions: int, fault: type[BaseException]) -> None:
        """Try a difference of any parts, some of which are there already."""
        infos = self.cluster.cache.columns.infos
        info = infos[which % len(infos)]
        there = self.cluster.cache.objects
        objects: list[KubeObject] = []
        if 0 in parts:
            objects += [make_volume("pv", labels={ZONE: "a"}), make_claim("new")]
        if 1 in parts:
            objects += [PodGroup(Metadata("broken", "default")), PodGroup(Metadata("other", "default"))]
        if 2 in parts:
            objects += [*there.all(PersistentVolumeClaim), *there.all(PersistentVolume)]
        nodes = [with_facts(info.node, labels={"disk": "ssd"}, taints=(), unschedulable=False)] if 3 in parts else []
        nodes += (
            [make_node("brand-new", cpu="8", labels={ZONE: "c"}, allocatable={"example.com/gpu": 1})]
            if 4 in parts
            else []
        )
        arriving = [self.pod("arrives", which % 4, info.name), self.pod("homeless", 1, "nowhere")] if 5 in parts else []
        arriving += self.cluster.cache.pods()[:1] if 6 in parts else []
        difference = Difference(objects=tuple(objects), nodes=tuple(nodes), arriving=tuple(arriving))
        with self.unchanged(occasions, fault), altered(self.cluster.cache, difference):
            self.engine.runner.filter_nodes(Faulty(), self.cluster.cycle(self.pod("asks", 0)), self.cluster.nodes)

    @rule(which=st.integers(0, 30), on=st.integers(0, 30), occasions=occasions, fault=faults)
    def compare(self, which: int, on: int, occasions: int, fault: type[BaseException]) -> None:
        """Ask why a placed pod is not on another node, for which it is set aside."""
        pods, infos = self.cluster.cache.pods(), self.cluster.cache.columns.infos
        if pods:
            pod, node = pods[which % len(pods)], infos[on % len(infos)].name
            with self.unchanged(occasions, fault):
                why_not(self.cluster.cache, self.engine, Nominations(self.cluster), pod, node)

    @rule(kind=st.integers(0, 3), occasions=occasions, fault=faults)
    def try_less(self, kind: int, occasions: int, fault: type[BaseException]) -> None:
        """Try one remedy."""
        pod = self.pod("waits", kind, cpu="3")
        remedy = ask_for_less(pod, {"cpu": 1000})
        assert remedy is not None
        with self.unchanged(occasions, fault):
            Tries(self.cluster.cache, self.engine, Nominations(self.cluster), pod).tried(remedy)

    @invariant()
    def counters_are_those_of_the_pods(self) -> None:
        """What is free is what nodes have, less what their pods ask for: the state itself is no wreck."""
        if not hasattr(self, "cluster"):
            return
        columns = self.cluster.cache.columns
        for info in columns.infos:
            assert columns.pod_count[info.slot] == len(info.pods)
            assert columns.requested("cpu")[info.slot] == sum(pod.usage.get("cpu", 0) for pod in info.pods.values())


Tried.TestCase.settings = examples(300, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))
TestTriesLeaveNoTrace = pytest.mark.filterwarnings("ignore")(Tried.TestCase)
