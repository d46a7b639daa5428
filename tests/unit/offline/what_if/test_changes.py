"""Each change of a what-if: what it does in the world, and what the answer says of it."""

from typing import Any

import msgspec
import pytest

from kit.what_if_ground import ask, deployment, nodes_of, pod_spec, running, with_plugins
from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.offline.what_if.request import WrongRequest
from pilotage.testing import make_node, make_pod
from pilotage.testing.quotas import make_quota

CORE = {"addPods": {"requests": {"cpu": "1"}, "copies": 4}}
GPU = {"gpu": "yes"}


def budget(allowed: int, *, name: str = "web-budget", app: str = "web") -> PodDisruptionBudget:
    spec = {"selector": {"matchLabels": {"app": app}}}
    status = {"disruptionsAllowed": allowed}
    found: PodDisruptionBudget = msgspec.convert(
        {"metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": status}, PodDisruptionBudget
    )
    return found


def workload(kind: str, spec: dict[str, Any], version: str = "apps/v1") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "it"}, "spec": spec}


TEMPLATE = {"metadata": {"labels": {"app": "it"}}, "spec": pod_spec("100m")}
JOB = {"template": TEMPLATE, "parallelism": 3, "completions": 2}
WORKLOADS = {
    "a pod": (workload("Pod", pod_spec("100m"), "v1"), 1, "Pod default/it"),
    "a deployment": (workload("Deployment", {"replicas": 3, "template": TEMPLATE}), 3, "Deployment default/it"),
    "a deployment that says no number": (workload("Deployment", {"template": TEMPLATE}), 1, "Deployment default/it"),
    "a replica set": (workload("ReplicaSet", {"replicas": 2, "template": TEMPLATE}), 2, "ReplicaSet default/it"),
    "a stateful set": (workload("StatefulSet", {"replicas": 2, "template": TEMPLATE}), 2, "StatefulSet default/it"),
    "a job has no more pods than are to complete": (workload("Job", JOB, "batch/v1"), 2, "Job default/it"),
    "one run of a cron job": (
        workload("CronJob", {"jobTemplate": {"spec": JOB}}, "batch/v1"),
        2,
        "CronJob default/it",
    ),
    "a daemon set, on each node that lets it": (
        workload("DaemonSet", {"template": TEMPLATE}),
        2,
        "DaemonSet default/it",
    ),
}


@pytest.mark.parametrize(("manifest", "pods", "owner"), WORKLOADS.values(), ids=WORKLOADS)
def test_what_makes_pods(manifest: dict[str, Any], pods: int, owner: str) -> None:
    taint = [{"key": "keep", "value": "off", "effect": "NoSchedule"}]
    answer = ask([make_node("n1"), make_node("n2"), make_node("n3", taints=taint)], {"add": {"manifests": [manifest]}})
    assert [(each.owner, each.asked, each.placed) for each in answer.shapes] == [(owner, pods, pods)]
    assert answer.verdict == "fits"


def test_copies_multiply_the_pods_of_an_owner() -> None:
    answer = ask([make_node("n1", cpu="8")], {"add": {"manifests": [deployment(replicas=3)], "copies": 4}})
    assert (answer.pods.asked, answer.pods.placed, answer.pods.waiting) == (12, 8, 4)
    assert answer.summary == "8 of 12 pods fit. 0 evictions."
    assert answer.verdict == "partly"
    assert [(each.owner, each.count, each.example) for each in answer.waiting] == [
        ("Deployment default/web", 4, "default/web-9")
    ]


def test_a_name_that_a_pod_has_already_is_left_to_it() -> None:
    there = [make_node("n1"), make_pod("web-1", node="n1"), make_pod("it", node="n1")]
    answer = ask(there, {"add": {"manifests": [deployment(), workload("Pod", pod_spec(), "v1")]}})
    assert {row.pod for row in answer.rows} == {"default/web-2", "default/it-1"}


def test_claims_of_a_stateful_set_are_made() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    manifest = workload("StatefulSet", {"template": TEMPLATE, "volumeClaimTemplates": [claim]})
    answer = ask([make_node("n1")], {"add": {"manifests": [manifest]}})
    assert "unbound immediate PersistentVolumeClaims" in answer.waiting[0].reason


def test_nodes_like_one_have_its_labels_its_taints_and_its_daemons() -> None:
    cluster = [
        make_node("n1", cpu="2", labels=GPU, taints=[{"key": "gpu", "effect": "NoSchedule"}], unschedulable=True),
        running("agent", "n1", owner="agent", kind="DaemonSet", cpu="1"),
        running("web", "n1", cpu="1"),
    ]
    new = {"requests": {"cpu": "1"}, "copies": 4, "nodeSelector": GPU, "tolerations": [{"operator": "Exists"}]}
    answer = ask(cluster, {"addNodes": {"like": "n1", "count": 3}}, {"addPods": new})
    assert nodes_of(answer) == {"n1-new-1": 1, "n1-new-2": 1, "n1-new-3": 1}
    assert answer.summary == "3 of 4 pods fit (now: 0 of 4). 0 evictions."
    assert answer.use["cpu"].after.allocatable == 8000


def test_nodes_by_a_template_are_as_nodes_of_the_same_kind() -> None:
    kind = {"node.kubernetes.io/instance-type": "m5"}
    there = make_node("n1", cpu="4", labels=kind)
    there.allocatable["cpu"] = 3000
    template = {"labels": kind, "capacity": {"cpu": "8"}}
    answer = ask([there], {"addNodes": {"template": template}}, CORE)
    assert answer.use["cpu"].after.allocatable == 9000
    assert any("the part of the capacity that nodes like n1 have" in each for each in answer.assumptions)
    assert any("110 pods" in each for each in answer.assumptions)


def test_a_drained_node_gives_its_pods_to_others() -> None:
    cluster = [
        make_node("n1"),
        make_node("n2", cpu="2"),
        *(running(f"web-{i}", "n1", cpu="1") for i in range(3)),
        running("agent", "n1", owner="agent", kind="DaemonSet"),
        make_pod("bare", node="n1"),
    ]
    answer = ask(cluster, {"drain": {"nodes": ["n1"]}})
    assert nodes_of(answer) == {"n2": 2}
    assert answer.summary == "2 of 3 pods fit. 1 pod would be lost: no controller replaces it."
    assert {each.pod for each in answer.evictions if each.lost} == {"default/bare"}
    assert answer.verdict == "partly"


def test_a_budget_lets_one_go_when_the_one_before_has_started() -> None:
    pods = [running(f"web-{i}", "n1", cpu="1", labels={"app": "web"}) for i in range(3)]
    roomy = ask([make_node("n1"), make_node("n2"), *pods, budget(1)], {"drain": {"nodes": ["n1"]}})
    assert (roomy.verdict, nodes_of(roomy)) == ("fits", {"n2": 3})
    tight = ask([make_node("n1"), make_node("n2", cpu="1"), *pods, budget(1)], {"drain": {"nodes": ["n1"]}})
    assert nodes_of(tight) == {"n2": 1}
    assert [each.budget for each in tight.evictions if each.blocked] == ["default/web-budget"]


def test_a_budget_without_room_keeps_its_pods() -> None:
    cluster = [make_node("n1"), make_node("n2"), running("web", "n1", labels={"app": "web"}), budget(0)]
    answer = ask(cluster, {"drain": {"nodes": ["n1"]}})
    assert answer.verdict == "no"
    assert answer.summary == "1 pod cannot be evicted: a disruption budget allows no more."
    assert ask(cluster, {"evict": {"pods": ["default/web"]}}).evictions[0].blocked
    assert ask(cluster, {"removeNodes": {"nodes": ["n1"]}}).verdict == "fits", "a node that is gone asks nobody"


def test_removed_nodes_take_no_pods_any_more() -> None:
    cluster = [make_node("n1", labels={"pool": "old"}), make_node("n2", cpu="1"), running("web", "n1", cpu="1")]
    answer = ask(cluster, {"removeNodes": {"selector": "pool=old"}}, CORE)
    assert answer.pods.placed == 1
    assert answer.use["cpu"].after.allocatable == 1000


PLACES = {
    "cordon": ({"cordon": {"nodes": ["n1"]}}, {"n2": 1}),
    "a label that pods ask for": ({"label": {"nodes": ["n2"], "labels": GPU}}, {"n2": 1}),
    "a label that is taken away": ({"label": {"nodes": ["n1"], "labels": {"gpu": None}}}, {}),
    "a taint": ({"taint": {"nodes": ["n1"], "taints": [{"key": "a"}]}}, {}),
    "a taint that is taken away": ({"taint": {"nodes": ["n3"], "remove": ["a"]}}, {"n3": 1}),
}


@pytest.mark.parametrize(("change", "places"), PLACES.values(), ids=PLACES)
def test_nodes_that_change(change: dict[str, Any], places: dict[str, int]) -> None:
    name = next(iter(change))
    labels = {"n1": GPU, "n2": GPU if name == "cordon" else {}, "n3": GPU}
    cluster = [
        make_node("n1", labels=labels["n1"], unschedulable="remove" in str(change) or "'n2'" in str(change)),
        make_node("n2", labels=labels["n2"]),
        make_node("n3", labels=labels["n3"], taints=[{"key": "a", "effect": "NoSchedule"}]),
    ]
    answer = ask(cluster, change, {"addPods": {"requests": {"cpu": "3"}, "nodeSelector": GPU}})
    assert nodes_of(answer) == places


def test_a_taint_that_nobody_tolerates_sends_pods_away() -> None:
    stays = running("patient", "n1", tolerations=[{"operator": "Exists"}])
    change = {"taint": {"nodes": ["n1"], "taints": [{"key": "out", "effect": "NoExecute"}]}}
    answer = ask([make_node("n1"), make_node("n2"), running("web", "n1"), stays], change)
    assert [(each.pod, each.by) for each in answer.evictions] == [("default/web", "taint of n1")]
    assert nodes_of(answer) == {"n2": 1}


QUOTAS = {
    "more than now": ({"max": {"cpu": "+1"}}, 3),
    "less than now": ({"max": {"cpu": "-1"}}, 1),
    "another amount": ({"max": {"cpu": "4"}}, 4),
}


@pytest.mark.parametrize(("bounds", "placed"), QUOTAS.values(), ids=QUOTAS)
def test_a_quota_that_changes(bounds: dict[str, Any], placed: int) -> None:
    lender = make_quota("lender", {"cpu": "8"}, {"cpu": "8"}, name="lender")
    cluster = [make_node("n1", cpu="8"), lender, make_quota("default", {"cpu": "1"}, {"cpu": "2"})]
    change = {"quota": {"namespace": "default", **bounds}}
    answer = ask(cluster, CORE, change, ready=with_plugins("CapacityScheduling"))
    assert (answer.pods.placed, answer.shapes[0].now) == (placed, 2)


def test_a_profile_by_its_spec_decides_about_new_pods() -> None:
    cluster = [make_node("n1", cpu="2"), make_node("n2", cpu="8"), running("web", "n2", cpu="1")]
    packing = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    plugins = [
        {"name": "NodeResourcesFit", "args": packing},
        {"name": "NodeResourcesBalancedAllocation", "enabled": False},
    ]
    new = {"addPods": {"requests": {"cpu": "1"}}}
    assert nodes_of(ask(cluster, new)) == {"n2": 1}
    assert nodes_of(ask(cluster, new, profile={"schedulerName": "packing", "plugins": plugins})) == {"n1": 1}
    by_change = {"useProfile": {"name": "default-scheduler", "spec": {"plugins": plugins}}}
    assert nodes_of(ask(cluster, by_change, new)) == {"n1": 1}


WRONG = {
    "a node that is not there": ({"addNodes": {"like": "n11"}}, 'there is no node n11; did you mean "n1"?'),
    "a drain of nothing": ({"drain": {"nodes": ["x"]}}, "there is no node x; `kubectl get nodes` lists all of them"),
    "no such labels": (
        {"cordon": {"selector": "pool=old"}},
        "no node has pool=old; `kubectl get nodes --show-labels` lists labels",
    ),
    "no selector at all": (
        {"cordon": {"selector": "pool old"}},
        "selector pool old: write it like pool=old, disk!=hdd, gpu, !spot or zone in (a,b)",
    ),
    "no such pod": (
        {"evict": {"pods": ["web-7"]}},
        'evict: no pod default/web-7 runs on a node; did you mean "default/web-1"?',
    ),
    "no quota to change by so much": (
        {"quota": {"namespace": "default", "max": {"cpu": "+1"}}},
        "quota: name one of the elastic quotas of default (there are: none)",
    ),
    "a pod that nobody serves": (
        {"addPods": {"schedulerName": "default-schedular"}},
        "Pod default/pod: no profile has its schedulerName default-schedular (there are default-scheduler); "
        'did you mean "default-scheduler"?',
    ),
    "manifests without pods": (
        {"add": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}]}},
        "the manifests contain no pods; give a Pod, a Deployment, a Job or the like",
    ),
    "an amount that is none": (
        {"add": {"manifests": [deployment(cpu="a lot")]}},
        "manifests, document 1 (Pod default/web): spec.containers[0].resources.requests[cpu]: 'a lot' is not a "
        "quantity: write it like 2, 0.5, 500m, 1e3 or 4Gi",
    ),
    "a number that is none": (
        {"add": {"manifests": [deployment(replicas="2")]}},  # type: ignore[arg-type]
        "manifest 1 (Deployment web): spec.replicas: this must be a whole number, not '2'",
    ),
    "a class that is not there": (
        {"add": {"manifests": [deployment(priorityClassName="high")]}},
        "manifests, document 1 (Pod default/web): spec.priorityClassName: no PriorityClass with name high was found; "
        "add it to the files (there are: system-cluster-critical, system-node-critical)",
    ),
    "a profile that cannot run": (
        {"useProfile": {"name": "batch", "spec": {"plugins": [{"name": "NodeResourceFit"}]}}},
        "NodeResourcesFit",
    ),
    "more pods than anybody may ask about": (
        {"add": {"manifests": [deployment(replicas=2000)], "copies": 6}},
        "6 copies of 2000 pods: 12000 are more than 10000; ask for fewer, or use `fill` (`pilotage capacity`) to "
        "find out how many fit",
    ),
}


@pytest.mark.parametrize(("change", "told"), WRONG.values(), ids=WRONG)
def test_what_is_not_there(change: dict[str, Any], told: str) -> None:
    with pytest.raises(WrongRequest) as raised:
        ask([make_node("n1"), make_pod("web-1", node="n1")], change)
    assert told in str(raised.value)
