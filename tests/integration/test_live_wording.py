"""What is told of a pod on a live cluster: the same scenes are played to the real kube-scheduler and to ours.

Events, conditions and nominated nodes must be equal, word for word, and so must be how often a pod is tried. The nodes
are the same for both, only one of the two schedulers runs at a time, and nothing else happens on the cluster.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

import pytest

from kit.admin import Refused
from kit.control_plane import ControlPlane, RunningPilotage
from kit.stage import Stage, clear_pods, stage
from kit.tiers import tiered
from pilotage.testing import node_manifest
from pilotage.testing.storage import claim_volumes

OURS, THEIRS = "pilotage", "kube-scheduler"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
BATCH = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
LOW, MIDDLE, HIGH, PATIENT = (f"wording-{name}" for name in ("low", "middle", "high", "patient"))
CLASSES: dict[str, dict[str, Any]] = {
    LOW: {"value": 10},
    MIDDLE: {"value": 100},
    HIGH: {"value": 1000},
    PATIENT: {"value": 1000, "preemptionPolicy": "Never"},
}
ON_A, ON_B = {HOST: "word-a"}, {HOST: "word-b"}
CORE, POLICY = "/api/v1", "/apis/policy/v1"

Scene = Callable[[Stage], None]
Running = Callable[[], AbstractContextManager[object]]
SCENES: dict[str, Scene] = {}
FULL: set[str] = set()  # their sentences are compared by `make test-all` only


def scene(sentence: str, *, full: bool = False) -> Callable[[Scene], Scene]:
    def keep(play: Scene) -> Scene:
        SCENES[sentence] = play
        FULL.update([sentence] * full)
        return play

    return keep


def nodes() -> list[dict[str, Any]]:
    return [
        node_manifest("word-a", cpu="4", labels={ZONE: "north", "disk": "ssd"}),
        node_manifest("word-b", cpu="2", labels={ZONE: "north", "disk": "hdd"}),
        node_manifest("word-c", cpu="4", labels={ZONE: "south"}, taints=[BATCH]),
        node_manifest("word-d", cpu="4", labels={ZONE: "south"}, unschedulable=True),
    ]


# ------------------------------------------------------------------------------------------------------------- scenes


@scene("a pod that fits")
def fits(on: Stage) -> None:
    on.create("pod", cpu="1", node_selector=ON_A)
    on.until_bound("pod")


@scene("a pod that is larger than every node")
def too_large(on: Stage) -> None:
    on.create("pod", cpu="64", memory="1Ti")
    on.until_refused("pod")


@scene("a pod that is too large here, unwanted there and out of place elsewhere", full=True)
def many_reasons(on: Stage) -> None:
    on.create("pod", cpu="3", node_selector={ZONE: "north", "disk": "hdd"})
    on.until_refused("pod")


@scene("a pod whose node selector no node has", full=True)
def no_selector(on: Stage) -> None:
    on.create("pod", node_selector={"disk": "tape"})
    on.until_refused("pod")


@scene("a pod whose node affinity names a node that does not exist", full=True)
def no_affinity(on: Stage) -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["word-z"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    on.create("pod", affinity={"nodeAffinity": required})
    on.until_refused("pod")


@scene("a pod that does not tolerate the only node with its zone", full=True)
def taint(on: Stage) -> None:
    on.create("pod", node_selector={ZONE: "south"})
    on.until_refused("pod")


@scene("a pod whose claim does not exist", full=True)
def no_claim(on: Stage) -> None:
    on.create("pod", spec=claim_volumes("nowhere"))
    on.until_refused("pod")


@scene("a pod whose claim has no volume yet", full=True)
def unbound_claim(on: Stage) -> None:
    spec = {
        "storageClassName": "",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    on.create_other(CORE, "persistentvolumeclaims", {"metadata": {"name": "claim"}, "spec": spec})
    on.settle()
    on.create("pod", spec=claim_volumes("claim"))
    on.until_refused("pod")


@scene("a pod whose resource claim does not exist", full=True)
def no_resource_claim(on: Stage) -> None:
    on.create("pod", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "nowhere"}]})
    on.create("later", node_selector=ON_A)
    on.until_bound("later")


@scene("a gated pod whose gate is taken away")
def gate(on: Stage) -> None:
    on.create("pod", gates=["example.com/wait"], node_selector=ON_A)
    on.look()
    on.change("pod", {"spec": {"schedulingGates": None}})
    on.until_bound("pod")


@scene("a pod whose host port is taken", full=True)
def host_port(on: Stage) -> None:
    on.create("first", host_ports=[8080], node_selector=ON_A)
    on.until_bound("first")
    on.create("second", host_ports=[8080], node_selector=ON_A)
    on.until_refused("second")


@scene("a pod that may not be near another", full=True)
def anti_affinity(on: Stage) -> None:
    other = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "alone"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [other]}}
    on.create("first", labels={"app": "alone"}, node_selector=ON_A)
    on.until_bound("first")
    on.create("second", affinity=affinity, node_selector={ZONE: "north"})
    on.until_refused("second")


@scene("a pod that another does not want near", full=True)
def existing_anti_affinity(on: Stage) -> None:
    other = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "loud"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [other]}}
    on.create("first", affinity=affinity, node_selector=ON_A)
    on.until_bound("first")
    on.create("second", labels={"app": "loud"})
    on.until_refused("second")


@scene("a pod that must be near one that is not there", full=True)
def affinity_to_nobody(on: Stage) -> None:
    other = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "absent"}}}
    on.create("pod", affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [other]}})
    on.until_refused("pod")


@scene("a pod that would spread unevenly", full=True)
def spread(on: Stage) -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "spread"}},
    }
    without = {**constraint, "topologyKey": "example.com/rack"}
    on.create("first", labels={"app": "spread"}, node_selector=ON_A)
    on.until_bound("first")
    on.create("uneven", labels={"app": "spread"}, cpu="3", spec={"topologySpreadConstraints": [constraint]})
    on.until_refused("uneven")
    on.create("rackless", labels={"app": "spread"}, spec={"topologySpreadConstraints": [without]})
    on.until_refused("rackless")


@scene("a pod of a scheduler that nobody runs", full=True)
def foreign(on: Stage) -> None:
    on.create("pod", scheduler="nobody")
    on.create("ours", node_selector=ON_A)
    on.until_bound("ours")


@scene("a message that is longer than an event may be", full=True)
def long_message(on: Stage) -> None:
    amounts = {f"example.com/{'a-very-rare-thing-' * 2}{number:02}": "1" for number in range(30)}
    on.create("pod", requests=amounts, limits=amounts)
    on.until_refused("pod")


@scene("a pod that preempts two others, which take their time, and gets their place")
def preemption(on: Stage) -> None:
    for name in ("victim-1", "victim-2"):
        on.create(name, held=True, cpu="1", priority_class=LOW, node_selector=ON_B)
    on.until_bound("victim-1", "victim-2")
    on.until_running("victim-1", "victim-2")
    on.create("preemptor", cpu="2", priority_class=HIGH, node_selector=ON_B)
    on.until_told("victim-1", "Preempted")
    on.until_told("victim-2", "Preempted")
    on.until(lambda: on.nominated("preemptor"), "the preemptor is nominated a node")
    on.look()
    on.let_go("victim-1")
    on.until_told("preemptor", "FailedScheduling", 2)
    on.look()
    on.let_go("victim-2")
    on.until_bound("preemptor")


@scene("a pod that comes to a node which is nominated for a more important one", full=True)
def nominated(on: Stage) -> None:
    on.create("victim", held=True, cpu="2", priority_class=LOW, node_selector=ON_B)
    on.until_bound("victim")
    on.until_running("victim")
    on.create("preemptor", cpu="2", priority_class=HIGH, node_selector=ON_B)
    on.until_told("victim", "Preempted")
    on.until(lambda: on.nominated("preemptor"), "the preemptor is nominated a node")
    on.create("late", cpu="1", priority_class=LOW, node_selector=ON_B)
    on.until_refused("late")


@scene("two pods that preempt the same one, the more important one later", full=True)
def overtaken(on: Stage) -> None:
    on.create("victim", held=True, cpu="2", priority_class=LOW, node_selector=ON_B)
    on.until_bound("victim")
    on.until_running("victim")
    on.create("middle", cpu="2", priority_class=MIDDLE, node_selector=ON_B)
    on.until_told("victim", "Preempted")
    on.until(lambda: on.nominated("middle"), "the first is nominated a node")
    on.settle()
    on.create("high", cpu="2", priority_class=HIGH, node_selector=ON_B)
    on.until_refused("high")
    on.look()
    on.let_go("victim")
    on.until_bound("high")


@scene("a pod that is important but never preempts", full=True)
def never(on: Stage) -> None:
    on.create("there", cpu="2", priority_class=LOW, node_selector=ON_B)
    on.until_bound("there")
    on.create("pod", cpu="2", priority_class=PATIENT, node_selector=ON_B)
    on.until_refused("pod")


@scene("a pod that would have to evict its equals", full=True)
def equals(on: Stage) -> None:
    on.create("there", cpu="2", priority_class=HIGH, node_selector=ON_B)
    on.until_bound("there")
    on.create("pod", cpu="2", priority_class=HIGH, node_selector=ON_B)
    on.until_refused("pod")


@scene("a pod whose eviction would break a disruption budget, and is evicted all the same", full=True)
def budget(on: Stage) -> None:
    selector = {"matchLabels": {"app": "guarded"}}
    on.create("victim", held=True, cpu="2", labels={"app": "guarded"}, priority_class=LOW, node_selector=ON_B)
    on.until_bound("victim")
    on.until_running("victim")
    budget = {"metadata": {"name": "budget"}, "spec": {"minAvailable": 1, "selector": selector}}
    on.create_other(POLICY, "poddisruptionbudgets", budget)
    path = f"{POLICY}/namespaces/{on.namespace}/poddisruptionbudgets/budget"
    on.until(lambda: on.admin.get(path)["status"].get("observedGeneration") == 1, "the budget is counted")
    on.settle()
    on.create("preemptor", cpu="2", priority_class=HIGH, node_selector=ON_B)
    on.until_told("victim", "Preempted")


@scene("a pod that is deleted while it waits", full=True)
def deleted(on: Stage) -> None:
    on.create("pod", cpu="64")
    on.until_refused("pod")
    on.settle()
    on.delete("pod")
    on.until_gone("pod")


@scene("a pod that is deleted while it waits, and takes its time", full=True)
def deleting(on: Stage) -> None:
    on.create("pod", held=True, cpu="64")
    on.until_refused("pod")
    on.settle()
    on.delete("pod")
    on.look()
    on.admin.patch("/api/v1/nodes/word-b", {"metadata": {"labels": {"nudge": uuid.uuid4().hex}}})


@scene("a gated pod that is deleted, takes its time and loses its gate", full=True)
def deleting_gated(on: Stage) -> None:
    on.create("pod", held=True, gates=["example.com/wait"], node_selector=ON_A)
    on.settle()
    on.delete("pod")
    on.change("pod", {"spec": {"schedulingGates": None}})
    on.until_told("pod", "FailedScheduling")


@scene("a pod that waits until another leaves", full=True)
def woken(on: Stage) -> None:
    on.create("there", cpu="2", node_selector=ON_B)
    on.until_bound("there")
    on.create("pod", cpu="2", node_selector=ON_B)
    on.until_refused("pod")
    on.look()
    on.delete("there", gracePeriodSeconds=0)
    on.until_bound("pod")


@scene("a pod that is tried again and again in vain", full=True)
def series(on: Stage) -> None:
    names = ("there", "small-1", "small-2")
    for name, cpu in zip(names, ("1500m", "100m", "100m"), strict=True):
        on.create(name, cpu=cpu, node_selector=ON_B)
    on.until_bound(*names)
    on.create("pod", cpu="2", node_selector=ON_B)
    on.until_refused("pod")
    # A bit of room wakes it, and is not enough.
    on.delete("small-1", gracePeriodSeconds=0)
    on.until_told("pod", "FailedScheduling", 2)
    on.delete("small-2", gracePeriodSeconds=0)
    on.until_told("pod", "FailedScheduling", 3)


@scene("a pod whose message changes from one try to the next", full=True)
def another_message(on: Stage) -> None:
    on.create("pod", cpu="64", node_selector=ON_B)
    on.until_refused("pod")
    on.look()
    path = "/api/v1/nodes/word-a"
    on.admin.patch(path, {"metadata": {"labels": {HOST: "word-b"}}})
    try:
        on.until_told("pod", "FailedScheduling", 2)
        on.look()
    finally:
        on.admin.patch(path, {"metadata": {"labels": {HOST: "word-a"}}})


@scene("a pod whose node is no longer the one that it wants, and then is again", full=True)
def label_comes_back(on: Stage) -> None:
    on.create("pod", cpu="64", node_selector=ON_B)
    on.until_refused("pod")
    on.look()
    path = "/api/v1/nodes/word-b"
    on.admin.patch(path, {"metadata": {"labels": {HOST: "elsewhere"}}})
    on.look()
    on.admin.patch(path, {"metadata": {"labels": {HOST: "word-b"}}})
    on.until_told("pod", "FailedScheduling", 2)


@scene("a pod in a cluster that has lost its nodes", full=True)
def no_nodes(on: Stage) -> None:
    taken = [on.admin.get(f"/api/v1/nodes/{node['metadata']['name']}") for node in nodes()]
    for node in taken:
        on.admin.delete(f"/api/v1/nodes/{node['metadata']['name']}")
    on.settle()  # pods and nodes are watched apart: the pod may be known before the last node is gone
    try:
        on.create("pod")
        on.until_refused("pod")
        # It is tried again and again: how often is a matter of time, and a series is written with its second sighting.
        on.until_told("pod", "FailedScheduling", 3)
        on.look()
    finally:
        for node in taken:
            del node["metadata"]["resourceVersion"], node["metadata"]["uid"]
            on.admin.post("/api/v1/nodes", node)
    on.until_bound("pod")
    on.until(lambda: not any(map(_is_new, on.admin.get("/api/v1/nodes")["items"])), "all nodes are open again")


def _is_new(node: Any) -> bool:
    return any(taint["key"] == "node.kubernetes.io/not-ready" for taint in node["spec"].get("taints", []))


@scene("a pod whose bind is refused")
def bind_refused(on: Stage) -> None:
    forbid_binds(on)
    on.create("pod", node_selector=ON_A)
    on.until_refused("pod")
    # The first two tries end here: how many more there are is a matter of time.
    on.until_told("pod", "FailedScheduling", 3)


def forbid_binds(on: Stage) -> None:
    name = f"no-binds-{on.namespace}"
    here = {"matchLabels": {"kubernetes.io/metadata.name": on.namespace}}
    binds = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    on.admin.post(
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        {
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [binds]},
                "validations": [{"expression": "false", "message": "nobody moves"}],
            },
        },
    )
    on.admin.post(
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        {
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": here}},
        },
    )
    on.create("probe", scheduler="nobody")
    tries = count()

    def is_refused() -> bool:
        binding = {
            "metadata": {"name": "probe", "namespace": on.namespace},
            "target": {"kind": "Node", "name": f"word-{next(tries)}"},
        }
        try:
            on.admin.post(f"/api/v1/namespaces/{on.namespace}/pods/probe/binding?dryRun=All", binding)
        except Refused as refusal:
            return "nobody moves" in str(refusal)
        return False

    on.until(is_refused, "binds are refused")


# -------------------------------------------------------------------------------------------------------------- tests


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest, control_plane: ControlPlane) -> Iterator[dict[str, dict[str, Any]]]:
    """What each scheduler told in each scene that is asked about; an exception stands for one that did not end."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asked = {item.callspec.params.get("sentence") for item in items if hasattr(item, "callspec")}
    clear_pods(control_plane)
    control_plane.fake_nodes([_marked(node) for node in nodes()])
    for name, about in CLASSES.items():
        meta = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        control_plane.kubectl.apply({**meta, **about})
    running: dict[str, Running] = {THEIRS: control_plane.kube_scheduler, OURS: control_plane.pilotage}
    everything: dict[str, dict[str, Any]] = {}
    for name, run in running.items():
        with run() as scheduler:
            everything[name] = {}
            for sentence, play in SCENES.items():
                if sentence not in asked:
                    continue
                everything[name][sentence] = _played(control_plane, play)
                _check_alive(scheduler)
    yield everything
    control_plane.delete_nodes("test=wording")
    control_plane.kubectl("delete", "priorityclass", *CLASSES)


def _marked(node: dict[str, Any]) -> dict[str, Any]:
    node["metadata"]["labels"]["test"] = "wording"
    return node


def _played(control_plane: ControlPlane, play: Scene) -> Any:
    with stage(control_plane, f"test-{uuid.uuid4().hex[:10]}") as on:
        try:
            play(on)
        except AssertionError as failure:
            return failure
        return on.record()


def _check_alive(scheduler: object) -> None:
    if isinstance(scheduler, RunningPilotage):
        assert scheduler.process.poll() is None, scheduler.log.read_text()


@pytest.mark.parametrize("sentence", tiered(SCENES, full=FULL))
def test_both_tell_the_same(told: dict[str, dict[str, Any]], sentence: str) -> None:
    theirs, ours = told[THEIRS][sentence], told[OURS][sentence]
    for name, outcome in ((THEIRS, theirs), (OURS, ours)):
        assert not isinstance(outcome, AssertionError), f"{name}: {outcome}"
    assert ours == theirs
