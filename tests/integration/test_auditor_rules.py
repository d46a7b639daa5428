"""The auditor can fail: each of its rules is broken once by hand, on a real API server."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from auditor.rules import RULES
from auditor.running import RunningAuditor
from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from oracle.devices import FINALIZER, exactly, resource_slice, result
from oracle.devices import claim as device_claim
from pilotage.testing import Manifest, node_manifest, pod_manifest

DRIVER = "audited.example.com"
OURS, THEIRS = "scheduler-a", "scheduler-b"
SERVES = {OURS: ["a"], THEIRS: ["b"]}
SEEN = 0.3  # seconds until the auditor has surely seen what was done


class Scene:
    """One small node and a hand that creates and binds pods."""

    def __init__(self, control_plane: ControlPlane, namespace: str, node: str) -> None:
        self.kubectl = control_plane.kubectl
        self.audit_log = control_plane.audit_log
        self.namespace = namespace
        self.node = node

    def create(self, name: str = "pod", finalizers: tuple[str, ...] = (), **wants: Any) -> None:
        pod = pod_manifest(name, namespace=self.namespace, scheduler="a", **wants)
        self.kubectl.create({**pod, "metadata": {**pod["metadata"], "finalizers": list(finalizers)}})
        time.sleep(SEEN)

    def bind(self, name: str = "pod", to: str = "", by: str = OURS) -> bool:
        user = (f"--as={by}", "--as-group=system:masters")
        done = self.kubectl.bind(self.namespace, name, to or self.node, *user)
        time.sleep(SEEN)
        return done.returncode == 0

    def delete(self, name: str = "pod") -> None:
        self.kubectl("delete", "pod", name, "-n", self.namespace, "--wait=false")
        time.sleep(SEEN)

    def allocate(self, name: str, *devices: Manifest, finalizers: tuple[str, ...] = (FINALIZER,)) -> None:
        """Create a claim and give it devices, as no allocator would."""
        made = device_claim(name, [exactly("r0", "any")], namespace=self.namespace)
        self.kubectl.create(made | {"metadata": made["metadata"] | {"finalizers": list(finalizers)}})
        if devices:
            change = json.dumps({"status": {"allocation": {"devices": {"results": devices}}}})
            words = ("patch", "resourceclaim", name, "-n", self.namespace, "--subresource=status", "--type=merge")
            self.kubectl(*words, f"--patch={change}")
        time.sleep(SEEN)

    def logged(self) -> Manifest:
        """The audit log's latest line about this scene."""
        events: list[Manifest] = [json.loads(line) for line in self.audit_log.read_text().splitlines()]
        return [event for event in events if event["objectRef"].get("namespace") == self.namespace][-1]


@pytest.fixture
def scene(control_plane: ControlPlane, namespace: str, fake_nodes: Nodes) -> Iterator[Scene]:
    (node,) = fake_nodes(node_manifest(f"audited-{uuid.uuid4().hex[:8]}", cpu="2", memory="4Gi", pods=2))
    yield Scene(control_plane, namespace, node)
    patch = '--patch={"metadata":{"finalizers":null}}'
    for pod in control_plane.kubectl("get", "pods,resourceclaims", "-n", namespace, "-o", "name").split():
        # A pod may go on its own meanwhile, so a failure is no news.
        control_plane.kubectl.attempt("patch", "-n", namespace, pod, "--type=merge", patch)


def foreign_binder(scene: Scene) -> None:
    scene.create()
    assert scene.bind(by=THEIRS)


def gated(scene: Scene) -> None:
    scene.create(gates=["example.com/hold"])
    assert not scene.bind()


def deleting(scene: Scene) -> None:
    scene.create(finalizers=("example.com/hold",))
    scene.delete()
    assert not scene.bind()


def bound(scene: Scene) -> None:
    scene.create()
    assert scene.bind()
    assert not scene.bind()


def overcommit(scene: Scene) -> None:
    scene.create(cpu="3500m")
    assert scene.bind()


def unknown_node(scene: Scene) -> None:
    scene.create()
    assert scene.bind(to="nowhere")


def waits(scene: Scene) -> None:
    scene.create(cpu="1")
    time.sleep(3.5)


def unclaimed(scene: Scene) -> None:
    scene.allocate("claim")
    scene.create(spec={"resourceClaims": [{"name": "device", "resourceClaimName": "claim"}]})
    assert scene.bind()


def device_twice(scene: Scene) -> None:
    scene.allocate("one", result(DRIVER, scene.node, "d0"))
    scene.allocate("two", result(DRIVER, scene.node, "d0"))


def device_overcommit(scene: Scene) -> None:
    device = {"name": "d0", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "1Gi"}}}
    scene.kubectl.create(resource_slice(scene.node, DRIVER, scene.node, [device], nodeName=scene.node))
    time.sleep(SEEN)
    share = {"shareID": str(uuid.uuid4()), "consumedCapacity": {"memory": "2Gi"}}
    scene.allocate("claim", result(DRIVER, scene.node, "d0", **share))
    time.sleep(SEEN)
    scene.kubectl("delete", "resourceslice", scene.node)


def unprotected(scene: Scene) -> None:
    scene.allocate("claim", result(DRIVER, scene.node, "d0"), finalizers=())


PROVOCATIONS = [
    pytest.param("foreign-binder", foreign_binder, id="a scheduler binds the pod of another"),
    pytest.param("bound-gated", gated, id="a gated pod is tried to be bound"),
    pytest.param("bound-deleting", deleting, id="a pod that is being deleted is tried to be bound"),
    pytest.param("bound-bound", bound, id="a bound pod is tried to be bound again"),
    pytest.param("overcommit", overcommit, id="a pod is bound where it does not fit"),
    pytest.param("unknown-node", unknown_node, id="a pod is bound to a node that does not exist"),
    pytest.param("bound-unclaimed", unclaimed, id="a pod is bound before its claim is allocated"),
    pytest.param("device-twice", device_twice, id="two claims have the same device"),
    pytest.param("device-overcommit", device_overcommit, id="a share is larger than its device"),
    pytest.param("unprotected-claim", unprotected, id="a claim is allocated without its finalizer"),
    pytest.param("waits-though-fits", waits, id="a pod that fits is left waiting"),
]
FORGED = {"double-bind", "unknown-pod"}


@pytest.mark.parametrize(("rule", "provoke"), PROVOCATIONS)
def test_a_rule_is_broken_when(rule: str, provoke: Callable[[Scene], None], scene: Scene, audit: Audit) -> None:
    with audit(serves=SERVES, wait_limit=2, grace=0, namespaces=[scene.namespace]) as running:
        provoke(scene)
    assert running.violations == [rule]
    assert (running.exit_code, running.report["clean"]) == (1, False)


def test_every_rule_is_provoked() -> None:
    assert {str(case.values[0]) for case in PROVOCATIONS} | FORGED == set(RULES)


def forge(scene: Scene, log: Path, **uid: str) -> None:
    """Write the scene's last binding once more, under another number and, if asked, for another pod."""
    event = scene.logged()
    event["auditID"] = str(uuid.uuid4())
    event["requestObject"]["metadata"].update(uid)
    with log.open("a") as file:
        file.write(json.dumps(event) + "\n")


@pytest.mark.parametrize(
    ("rule", "again"),
    [
        pytest.param("double-bind", {}, id="a second binding is granted"),
        pytest.param("unknown-pod", {"uid": "nobodys"}, id="a binding is granted for a pod that nobody saw"),
    ],
)
def test_what_an_api_server_never_grants_is_found_in_a_forged_log(
    rule: str, again: dict[str, str], scene: Scene, control_plane: ControlPlane, tmp_path: Path
) -> None:
    log = tmp_path / "forged.log"
    options: dict[str, Any] = {"serves": SERVES, "grace": 0, "namespaces": [scene.namespace]}
    with RunningAuditor(control_plane.kubeconfig, log, tmp_path, **options) as running:
        scene.create()
        assert scene.bind()
        forge(scene, log)
        forge(scene, log, **again)
        time.sleep(SEEN)
    assert running.violations == [rule]


ARRIVALS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "memory": ([{"memory": "5Gi"}], ["memory: 5Gi of 4Gi"]),
    "two pods together": ([{"cpu": "1"}, {"cpu": "1001m"}], ["cpu: 2001m of 2000m"]),
    "an init container": ([{"cpu": "1", "init": [{"cpu": "3"}]}], ["cpu: 3000m of 2000m"]),
    "sidecars": ([{"cpu": "1", "sidecars": [{"cpu": "600m"}, {"cpu": "600m"}]}], ["cpu: 2200m of 2000m"]),
    "an init container beside a sidecar": (
        [{"cpu": "1", "sidecars": [{"cpu": "600m"}], "init": [{"cpu": "1500m"}]}],
        ["cpu: 2100m of 2000m"],
    ),
    "storage": ([{"requests": {"ephemeral-storage": "1Gi"}}], ["ephemeral-storage: 1Gi of 0"]),
    "a resource that the node does not offer": (
        [{"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}],
        ["example.com/gpu: 1 of 0"],
    ),
    "too many pods": ([{}, {}, {}], ["pods: 3 of 2"]),
    "a host port": ([{"host_ports": [80]}] * 2, ["host port TCP 0.0.0.0:80 is used twice"]),
    "nothing where an init container fits": ([{"cpu": "1", "init": [{"cpu": "2"}], "host_ports": [80]}], []),
    "nothing where two fit exactly": ([{"cpu": "1"}, {"cpu": "1"}], []),
}


@pytest.fixture(scope="module")
def judged(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Manifest]]:
    """What the auditor says when the pods of every case are bound to a node of their own."""
    kubectl, name = control_plane.kubectl, f"arrivals-{uuid.uuid4().hex[:8]}"
    nodes = {case: f"{name}-{number}" for number, case in enumerate(ARRIVALS)}
    pods = [(nodes[case], number, wants) for case, (all_, _) in ARRIVALS.items() for number, wants in enumerate(all_)]
    kubectl("create", "namespace", name)
    kubectl("-n", name, "wait", "--for=create", "serviceaccount/default", "--timeout=30s")
    control_plane.fake_nodes([node_manifest(node, cpu="2", memory="4Gi", pods=2) for node in nodes.values()])
    folder = tmp_path_factory.mktemp("auditor")
    with RunningAuditor(control_plane.kubeconfig, control_plane.audit_log, folder, namespaces=[name]) as running:
        kubectl.create(
            *(pod_manifest(f"{node}-{n}", namespace=name, scheduler="a", **wants) for node, n, wants in pods)
        )
        for node, number, _ in pods:
            assert kubectl.bind(name, f"{node}-{number}", node).returncode == 0
    yield [
        {**found, "case": case}
        for found in running.report["violations"]
        for case in nodes
        if nodes[case] == found["node"]
    ]
    kubectl("delete", "namespace", name, "--wait=false")
    kubectl("delete", "node", *nodes.values(), "--wait=false")


@pytest.mark.parametrize("case", ARRIVALS)
def test_overcommit_names_what_is_short(case: str, judged: list[Manifest]) -> None:
    found = [(violation["rule"], violation["message"]) for violation in judged if violation["case"] == case]
    assert found == [("overcommit", message) for message in ARRIVALS[case][1]]


def test_attempts_within_the_grace_break_no_rule(scene: Scene, audit: Audit) -> None:
    with audit(serves=SERVES, grace=60, namespaces=[scene.namespace]) as running:
        bound(scene)
        scene.create("gated", gates=["example.com/hold"])
        assert not scene.bind("gated")
    assert running.report["violations"] == []
    assert running.report["seen"]["refusedBindings"] == 2
