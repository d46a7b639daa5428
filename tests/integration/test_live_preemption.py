"""Preemption on a live cluster: the real kube-scheduler and ours must evict the same pods, and no others.

Every scene has one best answer. The victims are held by a finalizer, so that what happens while they leave can be seen.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditor.running import RunningAuditor
from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.stage import Stage, stage
from kit.tiers import tiered
from pilotage.testing import node_manifest
from pilotage.testing.storage import claim_volumes

OURS, THEIRS = "pilotage", "kube-scheduler"
HOST = "kubernetes.io/hostname"
BUDGETS = "/apis/policy/v1"
PRIORITIES = (10, 20, 30, 40, 50, 100, 1000)
NOT_ELIGIBLE = "not eligible due to a terminating pod on the nominated node."


@pytest.fixture(scope="module", autouse=True)
def priorities(control_plane: ControlPlane) -> Iterator[None]:
    """Classes for all priorities that the scenes use."""
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    manifests = [{**head, "metadata": {"name": of(value)}, "value": value} for value in PRIORITIES]
    control_plane.kubectl.apply(*manifests)
    yield
    control_plane.kubectl("delete", "priorityclass", *map(of, PRIORITIES))


def of(priority: int) -> str:
    """Return the name of the class with this priority."""
    return f"preemption-{priority}"


@pytest.fixture(scope="module", params=tiered([THEIRS, OURS], full=[THEIRS]), autouse=True)
def scheduler(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """One of the two schedulers, watched by the auditor; it may break no rule in any of the scenes."""
    folder: Path = tmp_path_factory.mktemp("audit")
    serves = {"system:kube-scheduler": ["default-scheduler"]}
    run = control_plane.pilotage if request.param == OURS else control_plane.kube_scheduler
    with RunningAuditor(control_plane.kubeconfig, control_plane.audit_log, folder, serves=serves) as running, run():
        yield
    assert running.report["violations"] == []
    assert running.report["seen"]["bindings"] > 0


@pytest.fixture
def on(control_plane: ControlPlane) -> Iterator[Stage]:
    """A stage of the test's own."""
    with stage(control_plane, f"test-{uuid.uuid4().hex[:10]}") as playing:
        yield playing


def there(on: Stage, node: str, priority: int, *, name: str | None = None, held: bool = True, **fields: Any) -> str:
    """Let a pod run on a node."""
    name = name or f"{node}-{priority}"
    on.create(name, node=node, held=held, priority_class=of(priority), **fields)
    on.until_running(name)
    return name


def limit_disruptions(on: Stage, app: str, at_least: int, allowed: int) -> None:
    """Guard the pods of an app, and wait until it is known how many of them may go."""
    spec = {"minAvailable": at_least, "selector": {"matchLabels": {"app": app}}}
    on.create_other(BUDGETS, "poddisruptionbudgets", {"metadata": {"name": app}, "spec": spec})
    until_allowed(on, app, allowed)


def until_allowed(on: Stage, app: str, allowed: int) -> None:
    path = f"{BUDGETS}/namespaces/{on.namespace}/poddisruptionbudgets/{app}"

    def is_counted() -> bool:
        status = on.admin.get(path).get("status", {})
        return bool(status.get("observedGeneration")) and status.get("disruptionsAllowed") == allowed

    on.until(is_counted, f"{allowed} pods of {app} may go")
    on.settle()  # the scheduler hears of it, too


def until_preempted(on: Stage, *victims: str) -> None:
    for victim in victims:
        on.until_told(victim, "Preempted")


def test_the_least_important_pods_go_and_a_guarded_node_is_spared(on: Stage, fake_nodes: Nodes) -> None:
    fake_nodes(*(node_manifest(f"evict-{n}", cpu=4) for n in "abc"))
    mixed = [there(on, "evict-a", priority, cpu=1) for priority in (20, 30, 40, 50)]
    important = there(on, "evict-b", 100, cpu=4)
    guarded = there(on, "evict-c", 10, cpu=4, labels={"app": "guarded"})
    limit_disruptions(on, "guarded", at_least=1, allowed=0)
    on.create("preemptor", cpu=2, priority_class=of(1000))
    until_preempted(on, *mixed[:2])
    on.until(lambda: on.nominated("preemptor") == "evict-a", "the preemptor is nominated the node")
    on.settle()
    assert on.leaving() == set(mixed[:2])
    for victim in mixed[:2]:
        conditions = {each["type"]: each for each in on.pod(victim)["status"]["conditions"]}
        assert conditions["DisruptionTarget"]["reason"] == "PreemptionByScheduler"
        on.let_go(victim)
    on.until_bound("preemptor")
    assert on.node_of("preemptor") == "evict-a"
    assert [on.node_of(name) for name in (*mixed[2:], important, guarded)] == [
        "evict-a", "evict-a", "evict-b", "evict-c",
    ]  # fmt: skip


@pytest.mark.full
def test_a_budget_is_used_up_before_more_important_pods_go(on: Stage, fake_nodes: Nodes) -> None:
    fake_nodes(*(node_manifest(f"budget-{n}", cpu=4) for n in "abc"))
    first = there(on, "budget-a", 10, cpu=4, labels={"app": "web"})
    second = there(on, "budget-b", 20, cpu=4, labels={"app": "web"})
    plain = there(on, "budget-c", 50, cpu=4)
    limit_disruptions(on, "web", at_least=1, allowed=1)
    on.create("one", cpu=4, priority_class=of(1000))
    until_preempted(on, first)
    until_allowed(on, "web", 0)
    on.create("two", cpu=4, priority_class=of(1000))
    until_preempted(on, plain)
    on.settle()
    assert on.leaving() == {first, plain}
    on.let_go(first)
    on.let_go(plain)
    on.until_bound("one", "two")
    # Which of the two equal pods gets which of the two places is not what is looked at.
    assert {on.node_of("one"), on.node_of("two")} == {"budget-a", "budget-c"}
    assert on.node_of(second) == "budget-b"


def test_nobody_else_goes_while_the_first_victims_take_their_time(on: Stage, fake_nodes: Nodes) -> None:
    fake_nodes(node_manifest("slow-a", cpu=4), node_manifest("slow-b", cpu=4))
    victim = there(on, "slow-a", 10, cpu=3)
    small = there(on, "slow-a", 20, cpu=1, held=False)
    other = there(on, "slow-b", 30, cpu=4)
    on.create("preemptor", cpu=3, priority_class=of(1000))
    until_preempted(on, victim)
    on.until(lambda: on.nominated("preemptor") == "slow-a", "the preemptor is nominated the node")
    on.delete(small, gracePeriodSeconds=0)  # wakes the preemptor in vain
    on.until(lambda: NOT_ELIGIBLE in on.notes("preemptor", "FailedScheduling")[-1], "it was tried once more")
    on.settle()
    assert on.leaving() == {victim}
    assert on.nominated("preemptor") == "slow-a"
    assert NOT_ELIGIBLE in on.notes("preemptor", "FailedScheduling")[-1], "it was not tried a third time"
    on.let_go(victim)
    on.until_bound("preemptor")
    assert (on.node_of("preemptor"), on.node_of(other)) == ("slow-a", "slow-b")


@pytest.mark.full
def test_the_room_of_a_preemptor_that_is_deleted_goes_to_another(on: Stage, fake_nodes: Nodes) -> None:
    fake_nodes(node_manifest("gone-a", cpu=4))
    victim = there(on, "gone-a", 10, cpu=4)
    on.create("preemptor", cpu=4, priority_class=of(1000))
    until_preempted(on, victim)
    on.until(lambda: on.nominated("preemptor") == "gone-a", "the preemptor is nominated the node")
    on.create("later", cpu=4, priority_class=of(10))
    on.until_refused("later")
    on.delete("preemptor")
    on.until_gone("preemptor")
    on.let_go(victim)
    on.until_bound("later")
    assert on.node_of("later") == "gone-a"


@pytest.mark.full
def test_a_more_important_preemptor_takes_the_nomination_of_another(on: Stage, fake_nodes: Nodes) -> None:
    fake_nodes(node_manifest("nomination-a", cpu=4))
    lowest = there(on, "nomination-a", 10, cpu=2)
    low = there(on, "nomination-a", 20, cpu=2)
    on.create("middle", cpu=2, priority_class=of(100))
    until_preempted(on, lowest)
    on.until(lambda: on.nominated("middle") == "nomination-a", "the first is nominated the node")
    on.settle()
    assert on.leaving() == {lowest}
    on.create("high", cpu=4, priority_class=of(1000))
    until_preempted(on, low)
    on.until(lambda: on.nominated("high") == "nomination-a", "the second is nominated the node")
    on.until(lambda: on.nominated("middle") is None, "the first has lost the nomination")
    on.let_go(lowest)
    on.let_go(low)
    on.until_bound("high")
    on.settle()
    assert (on.node_of("middle"), on.nominated("middle")) == (None, None)


@pytest.mark.full
def test_several_preemptors_at_once_evict_one_pod_each(on: Stage, fake_nodes: Nodes) -> None:
    names = fake_nodes(*(node_manifest(f"many-{n}", cpu=4) for n in range(6)))
    pods = [there(on, node, 10, cpu=4, held=False) for node in names]
    preemptors = [f"preemptor-{n}" for n in range(4)]
    for name in preemptors:
        on.create(name, cpu=4, priority_class=of(1000))
    on.until_bound(*preemptors)
    on.settle()
    told = [on.times_told(pod, "Preempted") for pod in pods]
    left = [pod for pod in pods if on.pod(pod) is not None]
    assert (sorted(told), len(left)) == ([0, 0, 1, 1, 1, 1], 2)
    assert {on.node_of(name) for name in preemptors} == set(names) - {on.node_of(pod) for pod in left}


@pytest.mark.full
def test_a_victim_that_is_not_bound_yet_goes_back_to_wait(on: Stage, fake_nodes: Nodes) -> None:
    """Its volume is never made, so that it holds its place without being bound."""
    fake_nodes(node_manifest("held-a", cpu=4))
    class_name = f"{on.namespace}-slow"
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    about = {"provisioner": "example.com/nobody", "volumeBindingMode": "WaitForFirstConsumer"}
    on.admin.post(classes, {"metadata": {"name": class_name}, **about})
    try:
        play_a_victim_that_is_not_bound_yet(on, class_name)
    finally:
        on.admin.delete(f"{classes}/{class_name}")


def play_a_victim_that_is_not_bound_yet(on: Stage, class_name: str) -> None:
    spec = {
        "storageClassName": class_name,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    on.create_other("/api/v1", "persistentvolumeclaims", {"metadata": {"name": "claim"}, "spec": spec})
    on.settle()
    on.create("unbound", cpu=4, priority_class=of(10), spec=claim_volumes("claim"))
    claim = f"/api/v1/namespaces/{on.namespace}/persistentvolumeclaims/claim"
    chosen = "volume.kubernetes.io/selected-node"
    on.until(lambda: on.admin.get(claim)["metadata"].get("annotations", {}).get(chosen), "the pod has its place")
    on.create("preemptor", cpu=4, priority_class=of(1000))
    on.until_bound("preemptor")
    on.until_refused("unbound")
    assert on.notes("unbound", "Preempted") == [
        f"Preempted by pod {on.pod('preemptor')['metadata']['uid']} on node held-a (in kube-scheduler memory)."
    ]
    assert on.leaving() == set()
    assert on.node_of("unbound") is None
