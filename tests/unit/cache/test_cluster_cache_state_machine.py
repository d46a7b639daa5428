"""Whatever happens to nodes and pods, the columns and counters equal a recount from scratch."""

from collections import Counter

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kit.tiers import examples
from pilotage.cache import placed_pods
from pilotage.cache.cluster_cache import AlreadyPlaced, ClusterCache
from pilotage.framework.api.pods import PodQuery, TermKind
from pilotage.model.affinity import carried_terms
from pilotage.model.limits import MOST_POD_TERMS
from pilotage.model.pod import Pod
from pilotage.testing import make_node, make_pod

NODES = st.sampled_from([f"n{i}" for i in range(6)])
PODS = st.sampled_from([f"p{i}" for i in range(8)])
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b"]), max_size=2)
QUERIES = [
    PodQuery(((frozenset({"default"}), (("app", "In", ("a",)),)),)),
    PodQuery(((None, (("app", "Exists", ()),)),), without_terminating=True),
    PodQuery(((frozenset({"other"}), ()), (None, (("tier", "NotIn", ("b",)),)))),
    PodQuery(((None, None),)),
]


def anti_affinity(key: str, app: str) -> dict[str, object]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [term],
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}],
        }
    }


def absurd() -> dict[str, object]:
    terms = [
        {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}} for app in "ab" for key in ("zone", "host")
    ]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms * MOST_POD_TERMS}}


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    name = draw(PODS)
    affinity = draw(st.sampled_from([None, anti_affinity("zone", "a"), anti_affinity("host", "b"), absurd()]))
    return make_pod(
        name,
        uid=name,
        namespace=draw(st.sampled_from(["default", "other"])),
        labels=draw(LABELS),
        node=draw(NODES),
        cpu=draw(st.sampled_from([None, "100m", "2"])),
        requests=draw(st.sampled_from([{}, {"example.com/gpu": 1}, {"memory": "1Gi", "ephemeral-storage": "1Gi"}])),
        host_ports=draw(st.sampled_from([(), (80,), (80, 443)])),
        affinity=affinity,
        metadata=draw(st.sampled_from([{}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}])),
        spec=draw(st.sampled_from([{}, {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}])),
    )


class CacheMachine(RuleBasedStateMachine):
    """Drives the cache beside plain dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.few_nodes, placed_pods.FEW_NODES = placed_pods.FEW_NODES, 2  # so that few and many are tried
        self.cache = ClusterCache()
        self.nodes: dict[str, dict[str, str]] = {}
        self.pods: dict[str, Pod] = {}
        self.assumed: set[str] = set()
        self.hidden: set[str] = set()
        self.cache.nodes().label_ids("zone")  # in use from the start; "host" from its first question on

    def teardown(self) -> None:
        placed_pods.FEW_NODES = self.few_nodes

    @rule(name=NODES, labels=st.dictionaries(st.sampled_from(["zone", "host"]), st.sampled_from(["x", "y"])))
    def put_node(self, name: str, labels: dict[str, str]) -> None:
        images, devices = ([("img", 5)], {"example.com/gpu": 2}) if "zone" in labels else ((), {})
        self.cache.put_node(make_node(name, labels=labels, images=images, allocatable=devices))
        self.nodes[name] = labels

    @rule(name=NODES)
    def remove_node(self, name: str) -> None:
        self.cache.remove_node(name)
        self.nodes.pop(name, None)

    @rule(pod=pods())
    def assume(self, pod: Pod) -> None:
        if pod.uid in self.pods:
            try:
                self.cache.assume(pod)
            except AlreadyPlaced:
                return
            raise AssertionError("a pod got two places")
        self.cache.assume(pod)
        self.pods[pod.uid] = pod
        self.assumed.add(pod.uid)

    @rule(uid=PODS)
    def forget(self, uid: str) -> None:
        forgotten = self.cache.forget(uid)
        assert (forgotten is not None) == (uid in self.assumed)
        if uid in self.assumed:
            self.assumed.remove(uid)
            del self.pods[uid]
            self.hidden.discard(uid)

    @rule(pod=pods())
    def put_pod(self, pod: Pod) -> None:
        assert (self.cache.put_pod(pod) is None) == (pod.uid not in self.pods)
        self.pods[pod.uid] = pod
        self.assumed.discard(pod.uid)

    @rule(uid=PODS)
    def remove_pod(self, uid: str) -> None:
        assert (self.cache.remove_pod(uid) is None) == (uid not in self.pods)
        self.pods.pop(uid, None)
        self.assumed.discard(uid)
        self.hidden.discard(uid)

    @rule(uid=PODS)
    def hide(self, uid: str) -> None:
        if uid in self.pods and uid not in self.hidden:
            self.cache.hide(uid)
            self.hidden.add(uid)

    @rule(uid=PODS)
    def show(self, uid: str) -> None:
        self.cache.show(uid)
        self.hidden.discard(uid)

    def seen(self) -> list[Pod]:
        return [pod for uid, pod in self.pods.items() if uid not in self.hidden]

    @precondition(lambda self: self.nodes)
    @invariant()
    def columns_equal_a_recount(self) -> None:
        nodes = self.cache.nodes()
        assert sorted(info.name for info in nodes) == sorted(self.nodes)
        for place, info in enumerate(nodes):
            assert info.slot == place
            mine = [pod for pod in self.seen() if pod.node_name == info.name]
            assert set(info.pods) == {pod.uid for pod in mine}
            assert nodes.pod_count[place] == len(mine)
            for resource in ("cpu", "memory", "ephemeral-storage", "example.com/gpu"):
                wanted = sum(pod.usage.get(resource, 0) for pod in mine)
                assert nodes.requested(resource)[place] == wanted == info.requested.get(resource, 0)
            assert nodes.nonzero_cpu[place] == sum(pod.nonzero_usage[0] for pod in mine)
            assert nodes.nonzero_memory[place] == sum(pod.nonzero_usage[1] for pod in mine)
            assert info.used_ports == Counter(port for pod in mine for port in pod.shape.host_ports)
            assert info.port_numbers == Counter(port for pod in mine for port in pod.shape.port_numbers)
            assert nodes.allocatable("example.com/gpu")[place] == (2 if "zone" in self.nodes[info.name] else 0)
            for key in ("zone", "host"):
                assert nodes.has_label(key) == any(key in labels for labels in self.nodes.values())
                value = nodes.label_values(key)[nodes.label_ids(key)[place]]
                assert value == self.nodes[info.name].get(key, "")

    @invariant()
    def counters_equal_a_recount(self) -> None:
        nodes = self.cache.nodes()
        here = {info.name: info.slot for info in nodes}
        for query in QUERIES:
            wanted = np.zeros(len(nodes), np.int32)
            for pod in self.seen():
                if pod.node_name in here and matches(query, pod):
                    wanted[here[pod.node_name]] += 1
            assert self.cache.placed.counts(query).tolist() == wanted.tolist()
        leaving = Counter(here[pod.node_name] for pod in self.seen() if pod.is_terminating and pod.node_name in here)
        assert self.cache.placed.terminating().tolist() == [leaving[slot] for slot in range(len(nodes))]

    @invariant()
    def carried_terms_equal_a_recount(self) -> None:
        here = {info.name: info.slot for info in self.cache.nodes()}
        for app in ("a", "b"):
            asked = make_pod("asked", labels={"app": app})
            wanted: Counter[tuple[str, int]] = Counter()
            for pod in self.seen():
                for term in carried_terms(pod, self.nodes.get(pod.node_name, {})).required_anti:
                    if pod.node_name in here and term.matches(asked, {}):
                        wanted[term.topology_key, here[pod.node_name]] += 1
            found: Counter[tuple[str, int]] = Counter()
            for carried in self.cache.placed.terms_about(asked, TermKind.REQUIRED_ANTI_AFFINITY):
                for slot, number in enumerate(carried.counts.tolist()):
                    found[carried.topology_key, slot] += number
            assert +found == wanted

    @invariant()
    def claims_and_images_equal_a_recount(self) -> None:
        users = [pod for pod in self.seen() if pod.spec.volumes and pod.node_name in self.nodes]
        for namespace in ("default", "other"):
            wanted = sum(pod.namespace == namespace for pod in users)
            assert self.cache.placed.claim_users(namespace, "c") == wanted
        image = self.cache.nodes().image("img")
        holders = {info.name for info in self.cache.nodes() if image is not None and image[1][info.slot]}
        assert holders == {name for name, labels in self.nodes.items() if "zone" in labels}

    @invariant()
    def assumed_pods_are_those_not_yet_confirmed(self) -> None:
        assert {uid for uid in self.pods if self.cache.is_assumed(uid)} == self.assumed

    @invariant()
    def hidden_pods_are_known_all_the_same(self) -> None:
        assert {pod.uid: pod for pod in self.cache.pods()} == self.pods
        assert self.cache.sizes()["pods"] == len(self.pods)


def matches(query: PodQuery, pod: Pod) -> bool:
    if query.without_terminating and pod.is_terminating:
        return False
    return all(
        (namespaces is None or pod.namespace in namespaces) and labels_match(key, pod.labels)
        for namespaces, key in query.conditions
    )


def labels_match(key: tuple[tuple[str, str, tuple[str, ...]], ...] | None, labels: dict[str, str]) -> bool:
    tests = {
        "In": lambda label, values: labels.get(label) in values,
        "NotIn": lambda label, values: labels.get(label) not in values,
        "Exists": lambda label, values: label in labels,
    }
    return key is not None and all(tests[operator](label, values) for label, operator, values in key)


CacheMachine.TestCase.settings = examples(200, stateful_step_count=30)
TestCache = CacheMachine.TestCase
