"""Remembered answers equal fresh ones, whatever happened to the cluster in between."""

from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kit.tiers import examples
from pilotage.app.profile_engines import engines
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.config.load import load
from pilotage.framework.api.verdicts import Rejection
from pilotage.kinds.seccomp_profile import SeccompProfile, SeccompProfileSpec, SyscallRule
from pilotage.kinds.workloads import ExactSelectorSpec, Service
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import built_in
from pilotage.profiles import build_profiles
from pilotage.queue.nominator import Nominator
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.explanation import explain
from pilotage.scheduling.outcome import Placed
from pilotage.testing import Manifest, make_node, make_pod

CATALOGUE = built_in()
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: with-others
  plugins: {multiPoint: {enabled: [{name: Priority}, {name: NodeResourcesAllocatable}]}}
- schedulerName: by-neighbours
  plugins: {multiPoint: {enabled: [{name: NodeMetadata}, {name: PodState}, {name: SySched}, {name: ScoreByNameLength}]}}
  pluginConfig:
  - name: NodeMetadata
    args: {metadataKey: priority.lixueduan.com, metadataSource: Label, metadataType: Number, scoringStrategy: Lowest}
"""
LOADED = load(CONFIGURATION, CATALOGUE)
PROFILES = ["default-scheduler", "with-others", "by-neighbours"]
NAMES = [f"n{i}" for i in range(9)]
PRIORITIES = [0, 5]
PRIORITY = "priority.lixueduan.com"
TAINTS = [
    {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
    {"key": "slow", "value": "yes", "effect": "PreferNoSchedule"},
]
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "a"}},
}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "b"}}}
        ]
    }
}
SHAPES: list[Manifest] = [
    {"cpu": "500m", "memory": "1Gi"},
    {"cpu": "1500m"},
    {},
    {"cpu": "100m", "host_ports": (80,)},
    {"cpu": "100m", "tolerations": [{"operator": "Exists"}], "node_selector": {"zone": "x"}},
    {"cpu": "100m", "labels": {"app": "a"}, "spec": {"topologySpreadConstraints": [SPREAD]}},
    {"cpu": "100m", "labels": {"app": "b"}, "affinity": APART},
    {"cpu": "100m", "image": "big:1"},
    {"cpu": "100m", "labels": {"app": "b"}},  # shunned, once there is one that wants to be apart
    {"cpu": "100m", "labels": {"app": "c"}},  # spread, while there is a service for it
]
CONFINED = {
    "securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "operator/default/web.json"}}
}
SHAPES.append({"cpu": "100m", "spec": CONFINED})
CALLS = SeccompProfileSpec((SyscallRule(("read", "write"), "SCMP_ACT_ALLOW"),))
PROFILE = SeccompProfile(Metadata(name="web", namespace="default"), CALLS)
SERVICE = Service(Metadata(name="c", namespace="default"), ExactSelectorSpec({"app": "c"}))


Verdicts = tuple[dict[str, Rejection | None], set[str]]


class RowsMachine(RuleBasedStateMachine):
    """One engine that remembers, beside one that is made anew for each question."""

    @initialize()
    def start(self) -> None:
        self.cache = ClusterCache()
        self.profiles = build_profiles(LOADED, CATALOGUE)
        self.engines = engines(self.profiles, self.cache)
        self.waiting: dict[str, Pod] = {}
        self.nominator = Nominator(self.waiting.get)
        self.scheduler = Scheduler(self.cache, self.engines, self.nominator, Random(0))
        self.placed: list[Pod] = []
        self.numbers = iter(range(10_000))

    @rule(
        name=st.sampled_from(NAMES),
        zone=st.sampled_from(["x", "y", None]),
        cpu=st.sampled_from(["1", "2", "4"]),
        taints=st.lists(st.sampled_from(TAINTS), max_size=2, unique_by=lambda taint: taint["key"]),
        unschedulable=st.booleans(),
        has_image=st.booleans(),
        priority=st.sampled_from(["10", "20", "abc", None]),
    )
    def put_node(
        self,
        name: str,
        zone: str | None,
        cpu: str,
        taints: list[Manifest],
        unschedulable: bool,
        has_image: bool,
        priority: str | None,
    ) -> None:
        labels = ({"zone": zone} if zone else {}) | ({PRIORITY: priority} if priority else {})
        images = [("big:1", 500 * 1024 * 1024)] if has_image else []
        self.cache.put_node(
            make_node(
                name,
                cpu=cpu,
                memory="4Gi",
                pods=4,
                labels=labels,
                taints=taints,
                unschedulable=unschedulable,
                images=images,
            )
        )

    @rule(there=st.booleans())
    def change_the_service(self, there: bool) -> None:
        (self.cache.objects.put if there else self.cache.objects.drop)(SERVICE)

    @rule(there=st.booleans())
    def change_the_profile_of_calls(self, there: bool) -> None:
        (self.cache.objects.put if there else self.cache.objects.drop)(PROFILE)

    @rule(name=st.sampled_from(NAMES))
    def remove_node(self, name: str) -> None:
        self.cache.remove_node(name)

    @rule(
        name=st.sampled_from(["w0", "w1", "w2", "w3"]),
        node=st.sampled_from([*NAMES[:5], ""]),
        shape=st.sampled_from(SHAPES),
        profile=st.sampled_from(PROFILES),
        priority=st.sampled_from(PRIORITIES),
    )
    def nominate_a_node(self, name: str, node: str, shape: Manifest, profile: str, priority: int) -> None:
        pod = make_pod(name, uid=name, scheduler=profile, priority=priority, **shape)
        self.waiting[pod.key] = pod
        self.nominator.add(pod, node)

    @rule(which=st.integers(0, 3))
    def begin_a_flight(self, which: int) -> None:
        if pod := self.waiting.pop(f"default/w{which}", None):
            self.nominator.touch(pod)

    @rule(which=st.integers(0, 3))
    def ask_for_one_that_may_have_a_nomination(self, which: int) -> None:
        if pod := self.waiting.get(f"default/w{which}"):
            self.compare(pod)

    @rule(
        shape=st.sampled_from(SHAPES),
        profile=st.sampled_from(PROFILES),
        priority=st.sampled_from(PRIORITIES),
        times=st.integers(1, 3),
    )
    def schedule(self, shape: Manifest, profile: str, priority: int, times: int) -> None:
        for _ in range(times):
            pod = make_pod(f"p{next(self.numbers)}", scheduler=profile, priority=priority, **shape)
            self.compare(pod)
            outcome = self.scheduler.schedule(pod)
            if isinstance(outcome, Placed):
                self.placed.append(outcome.pod)

    @rule(shape=st.sampled_from(SHAPES), profile=st.sampled_from(PROFILES), priority=st.sampled_from(PRIORITIES))
    def ask(self, shape: Manifest, profile: str, priority: int) -> None:
        self.compare(make_pod("asked", scheduler=profile, priority=priority, **shape))

    @rule(which=st.integers(0, 100))
    def delete_a_pod(self, which: int) -> None:
        if self.placed:
            self.cache.remove_pod(self.placed.pop(which % len(self.placed)).uid)

    def compare(self, pod: Pod) -> None:
        """The feasible nodes, every reason, and the best nodes are the same for both."""
        fresh = engines(build_profiles(LOADED, CATALOGUE), self.cache)[pod.scheduler_name]
        kept = self.engines[pod.scheduler_name]
        assert self.best(kept, pod) == self.best(fresh, pod) == self.best_one_by_one(fresh, pod)

    def best(self, engine: Engine, pod: Pod) -> Verdicts:
        attempt = Attempt(self.cache, engine, self.nominator, pod)
        nodes = attempt.cycle.nodes
        if not len(nodes):
            return {}, set()
        attempt.run_pre_filter()
        feasible = attempt.feasible()
        assert attempt.entry is not None
        rejections = attempt.entry.rejections
        verdicts = {
            node.name: rejections[code - 1] if code else None for node, code in zip(nodes, attempt.codes, strict=True)
        }
        best = attempt.best(feasible) if len(feasible) > 1 else feasible.slots
        return verdicts, {nodes[int(slot)].name for slot in best}

    def best_one_by_one(self, engine: Engine, pod: Pod) -> Verdicts:
        """The same by the scalar form of all filters, and by scores that are asked anew."""
        attempt = Attempt(self.cache, engine, self.nominator, pod)
        attempt.run_pre_filter()
        found = {node.name: attempt.cycle.try_on(node).verdict() for node in attempt.cycle.nodes}
        totals = {node.node: node.total for node in explain(self.cache, engine, self.nominator, pod).feasible}
        highest = max(totals.values(), default=0)
        return found, {name for name, total in totals.items() if total == highest}


RowsMachine.TestCase.settings = examples(200, stateful_step_count=20)
TestRows = RowsMachine.TestCase
