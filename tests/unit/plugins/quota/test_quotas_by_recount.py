"""Whatever happens to pods, quotas and namespaces: what is used equals a recount, and nobody is let in above max."""

from collections import Counter
from datetime import UTC, datetime
from itertools import count
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kit.tiers import examples
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.quota_accounting import table_of
from pilotage.model.pod import Pod
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.quota.capacity_scheduling import CapacityScheduling
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.outcome import Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod
from pilotage.testing.quotas import make_namespace, make_quota
from pilotage_operator.controllers.elastic_quotas import StoredElasticQuota, status_of

GPU = "example.com/gpu"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
NAMESPACES = ["a", "b", "c"]
A_NAMESPACE = st.sampled_from(NAMESPACES)
A_PRIORITY = st.sampled_from([0, 5, 10])
A_CLASS = st.sampled_from([None, "low", "high"])
# cpu in cores, so that a recount needs no units.
BOUNDS = st.none() | st.dictionaries(st.sampled_from(["cpu", GPU, "pods", "memory"]), st.integers(0, 8), max_size=3)
REQUESTS = st.dictionaries(st.sampled_from(["cpu", GPU, "memory"]), st.integers(0, 3), max_size=3)
SELECTORS = st.sampled_from([None, None, {"matchLabels": {"team": "x"}}, {}])
CLASSES = st.sampled_from([None, None, "high", "low, high", "No Name,low", ""])
TEAMS = st.sampled_from([None, "x", "y"])


class QuotaMachine(RuleBasedStateMachine):
    """Drives the plugin in a scheduler, beside plain dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.plugin = CapacityScheduling()
        nodes = [make_node(f"n{i}", cpu=6, memory=100, allocatable={GPU: 4}) for i in range(2)]
        self.cluster = FakeCluster(nodes)
        self.scheduler = FakeScheduler(NodeResourcesFit(), self.plugin, cluster=self.cluster)
        self.numbers = count(1)
        self.pods: dict[str, tuple[Pod, dict[str, int]]] = {}  # by uid, with what each asks for
        self.quotas: dict[str, ElasticQuota] = {}
        self.teams: dict[str, str | None] = {}
        for name in NAMESPACES:
            self.relabel(name, None)

    def relabel(self, namespace: str, team: str | None) -> None:
        self.teams[namespace] = team
        self.cluster.cache.objects.put(make_namespace(namespace, **({"team": team} if team else {})))

    def new_pod(self, namespace: str, requests: dict[str, int], **fields: Any) -> Pod:
        name = f"p{next(self.numbers)}"
        return make_pod(name, uid=name, namespace=namespace, requests=requests, **fields)

    @rule(namespace=A_NAMESPACE, requests=REQUESTS, priority=A_PRIORITY, priority_class=A_CLASS)
    def schedule(self, namespace: str, requests: dict[str, int], priority: int, priority_class: str | None) -> None:
        pod = self.new_pod(namespace, requests, priority=priority, priority_class=priority_class)
        before = self.recount()
        outcome = self.scheduler.schedule(pod)
        if isinstance(outcome, Placed):
            self.pods[pod.uid] = outcome.pod, requests
            self.is_within_bounds(pod, requests)
            return
        for key in outcome.victims:
            (victim,) = [each for each, _ in self.pods.values() if each.key == key]
            self.was_borrowed_or_its_own(pod, victim, before)
            del self.pods[victim.uid]
            self.cluster.remove_pod(victim)

    def is_within_bounds(self, pod: Pod, requests: dict[str, int]) -> None:
        quota = self.serving(pod)
        if quota is None:
            return
        used, asked = self.recount(), {**requests, "pods": 1}
        for name, most in (quota.spec.max or {}).items():
            assert not asked.get(name) or used[quota.metadata.name][name] <= int(most)
        guaranteed = Counter[str]()
        for each in self.in_force():
            guaranteed.update({name: int(amount) for name, amount in (each.spec.min or {}).items()})
            guaranteed.update(dict.fromkeys(each.spec.min or {}, 0))
        for name in {*(quota.spec.min or {}), *(quota.spec.max or {})}:
            if asked.get(name) and name in guaranteed:
                assert sum(counts[name] for counts in used.values()) <= guaranteed[name]

    def was_borrowed_or_its_own(self, pod: Pod, victim: Pod, before: dict[str, Counter[str]]) -> None:
        own, other = self.serving(pod), self.serving(victim)
        if own is None or other is None or own is other:
            assert own is other
            assert victim.priority < pod.priority
            return
        least = other.spec.min or {}
        assert any(amount > int(least.get(name, 0)) for name, amount in before[other.metadata.name].items())

    @rule(namespace=A_NAMESPACE, requests=REQUESTS, priority=A_PRIORITY, priority_class=A_CLASS)
    def another_scheduler_binds(
        self, namespace: str, requests: dict[str, int], priority: int, priority_class: str | None
    ) -> None:
        pod = self.new_pod(namespace, requests, priority=priority, priority_class=priority_class, node="n0")
        self.pods[pod.uid] = pod, requests
        self.cluster.add_pod(pod)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), finished=st.booleans())
    def ends(self, data: st.DataObject, finished: bool) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        pod, requests = self.pods.pop(uid)
        if not finished:
            self.cluster.remove_pod(pod)
            return
        same: dict[str, Any] = {"uid": uid, "namespace": pod.namespace, "priority_class": pod.spec.priority_class_name}
        ended = make_pod(pod.name, requests=requests, node=pod.node_name, status={"phase": "Succeeded"}, **same)
        self.cluster.add_pod(ended)
        self.what_is_used_equals_a_recount()
        self.cluster.remove_pod(ended)  # the watch leaves it out from then on

    @rule(
        namespace=A_NAMESPACE,
        least=BOUNDS,
        most=BOUNDS,
        selector=SELECTORS,
        classes=CLASSES,
        name=st.sampled_from(["q1", "q2", "q3"]),
    )
    def put_quota(
        self,
        namespace: str,
        least: dict[str, int] | None,
        most: dict[str, int] | None,
        selector: dict[str, object] | None,
        classes: str | None,
        name: str,
    ) -> None:
        known = self.quotas.get(name)  # names are of the cluster here, so that a recount can go by them
        if known is not None:
            namespace = known.metadata.namespace
        whose: dict[str, Any] = {"selector": selector, "classes": classes, "made": f"2026-01-01T00:00:0{name[1]}Z"}
        quota = self.quotas[name] = make_quota(namespace, least, most, name=name, **whose)
        self.cluster.cache.objects.put(quota)

    @precondition(lambda self: self.quotas)
    @rule(data=st.data())
    def delete_quota(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.quotas)))
        self.cluster.cache.objects.drop(self.quotas.pop(name))

    @rule(namespace=A_NAMESPACE, team=TEAMS)
    def relabel_namespace(self, namespace: str, team: str | None) -> None:
        self.relabel(namespace, team)

    def serving(self, pod: Pod) -> ElasticQuota | None:
        named, others = self.claiming(pod.namespace, pod.spec.priority_class_name), self.claiming(pod.namespace, None)
        return next(iter([*named, *others]), None)

    def claiming(self, namespace: str, priority_class: str | None) -> list[ElasticQuota]:
        """Return the quotas that name a class, or else none, the oldest first."""
        found = []
        for _, quota in sorted(self.quotas.items()):  # the names tell the age
            selector, classes = quota.spec.namespace_selector, quota.priority_classes
            chosen = selector is not None and selector.match_labels.items() <= {"team": self.teams[namespace]}.items()
            names = None if classes is None else [name.strip() for name in classes.split(",") if name]
            fitting = names is None if priority_class is None else priority_class in (names or ())
            if fitting and (quota.metadata.namespace == namespace or chosen):
                found.append(quota)
        return found

    def in_force(self) -> list[ElasticQuota]:
        first = [self.claiming(namespace, name)[:1] for namespace in NAMESPACES for name in (None, "low", "high")]
        return list({quota.metadata.name: quota for found in first for quota in found}.values())

    def recount(self) -> dict[str, Counter[str]]:
        """Return what each quota in force uses, from scratch."""
        found = {quota.metadata.name: Counter[str]() for quota in self.in_force()}
        for pod, requests in self.pods.values():
            quota = self.serving(pod)
            if quota is not None:
                named = {*(quota.spec.min or {}), *(quota.spec.max or {})}
                asked = {**requests, "pods": 1}
                found[quota.metadata.name].update({name: asked[name] for name in named if asked.get(name)})
        return found

    @invariant()
    def what_is_used_equals_a_recount(self) -> None:
        ledger, expected = self.plugin.ledger(self.cluster.cache.objects), self.recount()
        quotas = {quota.name: quota for quota in ledger.table.serving.values()}
        assert quotas.keys() == expected.keys()
        for name, used in expected.items():
            thousandths = {resource: n * 1000 if resource == "cpu" else n for resource, n in used.items()}
            assert ledger.used(quotas[name]) == thousandths
        in_all = sum(expected.values(), Counter[str]())
        assert ledger.used_in_all == {name: n * 1000 if name == "cpu" else n for name, n in in_all.items()}

    @invariant()
    def the_status_tells_the_same(self) -> None:
        namespaces = [make_namespace(name, **({"team": team} if team else {})) for name, team in self.teams.items()]
        expected, pods = self.recount(), self.cluster.cache.pods()
        table = table_of(self.quotas.values(), namespaces)
        for name, quota in self.quotas.items():
            stored = msgspec.convert(msgspec.to_builtins(quota), StoredElasticQuota)
            used = status_of(stored, lambda here: [pod for pod in pods if pod.namespace == here], table, NOW)["used"]
            named = {*(quota.spec.min or {}), *(quota.spec.max or {})}
            assert used == {resource: str(expected.get(name, Counter())[resource]) for resource in named}


QuotaMachine.TestCase.settings = examples(200, stateful_step_count=30)
TestQuotas = QuotaMachine.TestCase


@examples(200)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    shares=st.lists(st.integers(0, 5), min_size=2, max_size=4),
    filling=st.lists(st.tuples(st.integers(0, 3), A_PRIORITY), min_size=4, max_size=30),
    priority=A_PRIORITY,
)
def test_who_has_lent_gets_it_back(
    sizes: list[int], shares: list[int], filling: list[tuple[int, int]], priority: int
) -> None:
    least = dict(zip((f"ns{i}" for i in range(4)), fitting(shares, sum(sizes)), strict=False))
    nodes = [make_node(f"n{i}", cpu=size) for i, size in enumerate(sizes)]
    plugin = CapacityScheduling()
    cluster = FakeCluster(nodes, objects=[make_quota(name, {"cpu": n}) for name, n in least.items()])
    found = FakeScheduler(NodeResourcesFit(), plugin, cluster=cluster)
    for i, (of, importance) in enumerate(filling):
        namespace = list(least)[of % len(least)]
        found.schedule(make_pod(f"f{i}", namespace=namespace, cpu=1, priority=importance))  # whoever fits, borrows
    for lender, share in least.items():
        for i in range(share - usage(cluster)[lender]):
            pod = make_pod(f"{lender}-{i}", namespace=lender, cpu=1, priority=priority)
            others = {name: used for name, used in usage(cluster).items() if used <= least[name]}
            assert isinstance(placed_in_the_end(found, pod), Placed)
            after = usage(cluster)
            assert all(after[name] == used for name, used in others.items() if name != lender)
        assert usage(cluster)[lender] >= share


# Small numbers: so most pods cannot run beside each other, and each is sure of something else.
SHARES = st.fixed_dictionaries({}, optional={"cpu": st.integers(0, 2), GPU: st.integers(0, 2)})
NEEDS = st.fixed_dictionaries({"cpu": st.integers(1, 2), GPU: st.integers(0, 2)})


@examples(200)
@given(
    bounds=st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=3),
    wanted=st.lists(st.tuples(st.integers(0, 3), A_PRIORITY, NEEDS), min_size=3, max_size=8),
    with_default=st.booleans(),
)
@example(
    bounds=[({"cpu": 2}, {GPU: 2}), ({GPU: 2}, {"cpu": 2})],  # each is sure of what the other has borrowed
    wanted=[(0, 0, {"cpu": 2, GPU: 2}), (1, 0, {"cpu": 2, GPU: 2})],
    with_default=False,
)
def test_evictions_come_to_an_end(
    bounds: list[tuple[dict[str, int], dict[str, int]]],
    wanted: list[tuple[int, int, dict[str, int]]],
    with_default: bool,
) -> None:
    """Every victim wants to come back: nobody may be evicted in turn by whom it evicts."""
    node = make_node("n1", cpu=2, allocatable={GPU: 2})
    cluster = FakeCluster([node], objects=[make_quota(f"ns{i}", *each) for i, each in enumerate(bounds)])
    evicting = (DefaultPreemption(),) if with_default else ()
    found = FakeScheduler(NodeResourcesFit(), *evicting, CapacityScheduling(), cluster=cluster)
    waiting = [
        make_pod(f"p{i}", uid=f"p{i}", namespace=f"ns{of}", priority=priority, requests=requests)
        for i, (of, priority, requests) in enumerate(wanted)
    ]
    evictions, idle = 0, 0
    while waiting and idle < len(waiting):  # until nobody who waits gets anywhere
        pod = waiting.pop(0)
        before = {each.uid: each for each in cluster.cache.pods()}
        outcome = placed_in_the_end(found, pod)
        gone = [before[uid] for uid in before.keys() - {each.uid for each in cluster.cache.pods()}]
        waiting += [each.on("") for each in gone]
        waiting += [] if isinstance(outcome, Placed) else [pod]
        idle = 0 if gone or isinstance(outcome, Placed) else idle + 1
        evictions += len(gone)
        assert evictions < 100


def fitting(shares: list[int], cores: int) -> list[int]:
    """Return shares that the cluster can hold all at once."""
    kept: list[int] = []
    for share in shares:
        kept.append(min(share, cores - sum(kept)))
    return kept


def usage(cluster: FakeCluster) -> Counter[str]:
    return Counter(pod.namespace for pod in cluster.cache.pods())


def placed_in_the_end(scheduler: FakeScheduler, pod: Pod) -> Placed | Unplaced:
    """Schedule a pod, and once more when its victims are gone."""
    outcome = scheduler.schedule(pod)
    if isinstance(outcome, Placed) or not outcome.victims:
        return outcome
    gone = [each for each in scheduler.cluster.cache.pods() if each.key in outcome.victims]
    assert len(gone) == len(outcome.victims)
    for victim in gone:
        scheduler.cluster.remove_pod(victim)
    return scheduler.schedule(pod.with_nominated_node(outcome.nominate or ""))


def test_the_same_cluster_gives_the_same_victims() -> None:
    def victims() -> tuple[str, ...]:
        nodes = [make_node(f"n{i}", cpu=4) for i in range(3)]
        pods = [make_pod(f"p{i}", namespace="b", cpu=1, node=f"n{i % 3}", priority=i % 2) for i in range(12)]
        cluster = FakeCluster(nodes, pods, [make_quota("a", {"cpu": 6}), make_quota("b", {"cpu": 6})])
        outcome = FakeScheduler(NodeResourcesFit(), CapacityScheduling(), cluster=cluster).schedule(
            make_pod("lender", namespace="a", cpu=3)
        )
        assert isinstance(outcome, Unplaced)
        return outcome.victims

    assert [victims(), victims()] == [("b/p9", "b/p0", "b/p6")] * 2
