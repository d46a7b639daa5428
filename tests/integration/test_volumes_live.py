"""Pods and the volumes of their claims on a live cluster: the real kube-scheduler and ours must do and say the same.

The controllers that bind volumes are the real ones. Nothing makes volumes here: the tests play whoever does.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.tiers import tiered
from pilotage.testing import node_manifest, pod_manifest
from pilotage.testing.manifests import Manifest
from pilotage.testing.storage import claim_volumes

HOST = "kubernetes.io/hostname"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
OURS, THEIRS = "pilotage", "kube-scheduler"

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}}}
leaderElection: {{leaderElect: false}}
profiles:
- pluginConfig: [{{name: VolumeBinding, args: {{bindTimeoutSeconds: {seconds}}}}}]
"""

Running = Callable[..., AbstractContextManager[object]]


@pytest.fixture(params=tiered([THEIRS, OURS], full=[THEIRS]))
def scheduler(request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path: Path) -> Running:
    """Run one of the two schedulers."""
    run = control_plane.pilotage if request.param == OURS else control_plane.kube_scheduler
    kubeconfig = control_plane.cluster.identity_kubeconfig("scheduler")

    def start(seconds: int = 60) -> AbstractContextManager[object]:
        (tmp_path / "config.yaml").write_text(CONFIGURATION.format(kubeconfig=kubeconfig, seconds=seconds))
        return run(f"--config={tmp_path / 'config.yaml'}")

    return start


class Storage:
    """Storage objects of one test; those that live in no namespace carry its name."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self.kubectl = control_plane.kubectl
        self.namespace = namespace
        self.driver = f"{namespace}.example.com"

    def create_class(self, name: str, provisioner: str) -> str:
        about = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
        self._create("storage.k8s.io/v1", "StorageClass", self._own(name), about)
        return self._own(name)

    def create_volume(self, name: str, class_name: str, node: str | None = None, **spec: Any) -> str:
        terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}]
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": class_name,
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if node else {}),
            **(spec or {"local": {"path": f"/mnt/{name}"}, "mountOptions": ["noatime"]}),
        }
        self._create("v1", "PersistentVolume", self._own(name), {"spec": spec})
        return self._own(name)

    def create_claim(self, name: str, class_name: str, size: str = "1Gi") -> None:
        spec = {
            "storageClassName": class_name,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        }
        self._create("v1", "PersistentVolumeClaim", name, {"spec": spec})

    def create_driver(self) -> None:
        self._create("storage.k8s.io/v1", "CSIDriver", self.driver, {"spec": {"storageCapacity": True}})

    def create_capacity(self, class_name: str, node: str, capacity: str) -> None:
        about = {"storageClassName": class_name, "capacity": capacity, "nodeTopology": {"matchLabels": {HOST: node}}}
        self._create("storage.k8s.io/v1", "CSIStorageCapacity", f"on-{node}", about)

    def limit_attachments(self, node: str, count: int) -> None:
        driver = {"name": self.driver, "nodeID": node, "topologyKeys": [], "allocatable": {"count": count}}
        self._create("storage.k8s.io/v1", "CSINode", node, {"spec": {"drivers": [driver]}})

    def claim(self, name: str) -> Any:
        return self.kubectl.get("pvc", name, "-n", self.namespace)

    def volume_of(self, claim: Any) -> Any:
        return self.kubectl.get("pv", claim["spec"]["volumeName"])

    def pod(self, name: str) -> Any:
        return self.kubectl.get("pod", name, "-n", self.namespace)

    def create_pod(self, name: str, *claims: str) -> None:
        self.kubectl.create(pod_manifest(name, namespace=self.namespace, spec=claim_volumes(*claims)))

    def _own(self, name: str) -> str:
        return f"{self.namespace}-{name}"

    def _create(self, api: str, kind: str, name: str, fields: Manifest) -> None:
        metadata = {"name": name, "namespace": self.namespace, "labels": {"test": self.namespace}}
        if kind not in ("PersistentVolumeClaim", "CSIStorageCapacity"):
            del metadata["namespace"]
        self.kubectl.create({"apiVersion": api, "kind": kind, "metadata": metadata, **fields})


@pytest.fixture
def storage(control_plane: ControlPlane, namespace: str) -> Iterator[Storage]:
    """Makes storage objects and removes those that would outlive the namespace."""
    yield Storage(control_plane, namespace)
    control_plane.kubectl("delete", "pods,pvc", "--all", "-n", namespace, "--wait=false")
    kinds = "pv,storageclasses,csidrivers,csinodes"
    control_plane.kubectl("delete", kinds, "-l", f"test={namespace}", "--wait=false")


@pytest.fixture
def nodes(fake_nodes: Nodes, namespace: str) -> Callable[[int], list[str]]:
    """Registers fake nodes with names of the test's own."""
    return lambda count: fake_nodes(*(node_manifest(f"{namespace}-{number}") for number in range(count)))


def eventually(what: Callable[[], Any], seconds: float = 90) -> Any:
    """Return the first answer that is not empty."""
    deadline = time.monotonic() + seconds
    while not (answer := what()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return answer


def node_of(pod: Any) -> str:
    return str(pod["spec"].get("nodeName", ""))


def placed_on(storage: Storage, pod: str) -> str:
    return node_of(storage.pod(pod))


def why_waiting(pod: Any) -> tuple[str, str]:
    conditions = pod["status"].get("conditions", [])
    found = [each for each in conditions if each["type"] == "PodScheduled" and each["status"] == "False"]
    return next(((each["reason"], each["message"]) for each in found), ("", ""))


def test_a_stateful_set_takes_the_volumes_of_its_nodes(
    storage: Storage, nodes: Callable[[int], list[str]], scheduler: Running
) -> None:
    names = nodes(3)
    found = storage.create_class("found", NO_PROVISIONER)
    before = {storage.create_volume(f"on-{node}", found, node): node for node in names}
    with scheduler():
        storage.kubectl.create(stateful_set(storage.namespace, found, len(names)))
        pods = eventually(lambda: bound_pods(storage, len(names)))
        claims = {pod["metadata"]["name"]: storage.claim(f"data-{pod['metadata']['name']}") for pod in pods}
    assert {claim["status"]["phase"] for claim in claims.values()} == {"Bound"}
    taken = {name: storage.volume_of(claim) for name, claim in claims.items()}
    assert {pod["metadata"]["name"]: node_of(pod) for pod in pods} == {
        name: before[volume["metadata"]["name"]] for name, volume in taken.items()
    }
    assert {volume["metadata"]["name"] for volume in taken.values()} == set(before), "each pod has its own"
    for name, volume in taken.items():
        reference, claim = volume["spec"]["claimRef"], claims[name]["metadata"]
        assert (reference["apiVersion"], reference["kind"]) == ("v1", "PersistentVolumeClaim")
        assert reference["uid"] == claim["uid"]
        assert volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
        # What a scheduler does not read is still there.
        assert volume["spec"]["mountOptions"] == ["noatime"]
        assert volume["spec"]["local"]["path"].startswith("/mnt/")
        assert volume["metadata"]["labels"] == {"test": storage.namespace}


def stateful_set(namespace: str, class_name: str, replicas: int) -> Manifest:
    pod = pod_manifest(spec={"terminationGracePeriodSeconds": 0})
    template = {"metadata": {"labels": {"app": "data"}}, "spec": pod["spec"]}
    template["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    claim = {
        "storageClassName": class_name,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "data", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "serviceName": "data",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "data"}},
            "template": template,
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
        },
    }


def bound_pods(storage: Storage, count: int) -> list[Any]:
    found = storage.kubectl.get("pods", "-n", storage.namespace, "-l", "app=data")["items"]
    bound = [pod for pod in found if node_of(pod)]
    return bound if len(bound) == count else []


@pytest.mark.full
def test_a_volume_is_made_where_there_is_space_for_it(
    storage: Storage, nodes: Callable[[int], list[str]], scheduler: Running
) -> None:
    small, large = nodes(2)
    made = storage.create_class("made", storage.driver)
    storage.create_driver()
    storage.create_capacity(made, small, "1Gi")
    storage.create_capacity(made, large, "100Gi")
    storage.create_claim("c", made, "10Gi")
    with scheduler():
        storage.create_pod("user", "c")
        assert eventually(lambda: selected_node(storage, "c")) == large
        # Whoever makes volumes gives up on the node, and the pod is tried again.
        storage.kubectl("annotate", "pvc", "c", "-n", storage.namespace, f"{SELECTED_NODE}-")
        waits = eventually(lambda: "provisioning" in (why := why_waiting(storage.pod("user")))[1] and why)
        assert waits == (
            "SchedulerError",
            'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "c"',
        )
        assert eventually(lambda: selected_node(storage, "c")) == large
        assert node_of(storage.pod("user")) == "", "it waits for its volume"
        reference = {"namespace": storage.namespace, "name": "c", "uid": storage.claim("c")["metadata"]["uid"]}
        source = {"driver": storage.driver, "volumeHandle": "made"}
        capacity = {"storage": "10Gi"}
        volume = storage.create_volume("made", made, large, csi=source, capacity=capacity, claimRef=reference)
        assert eventually(lambda: node_of(storage.pod("user"))) == large
    assert storage.claim("c")["spec"]["volumeName"] == volume


def selected_node(storage: Storage, claim: str) -> str:
    return str(storage.claim(claim)["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))


@pytest.mark.full
def test_a_pod_whose_volume_is_never_made_holds_nothing_back(
    storage: Storage, nodes: Callable[[int], list[str]], scheduler: Running
) -> None:
    (node,) = nodes(1)
    found = storage.create_class("found", NO_PROVISIONER)
    volume = storage.create_volume("found", found, node)
    storage.create_claim("found", found)
    storage.create_claim("never", storage.create_class("made", storage.driver))
    with scheduler(seconds=3):
        storage.create_pod("stuck", "found", "never")
        assert eventually(lambda: (why := why_waiting(storage.pod("stuck")))[0] and why) == (
            "SchedulerError",
            'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded',
        )
        eventually(lambda: failed_again(storage, "stuck"))
        storage.kubectl("delete", "pod", "stuck", "-n", storage.namespace, "--wait=true")
        storage.create_pod("other", "found")
        assert eventually(lambda: node_of(storage.pod("other"))) == node
    # There is no way back from what was written, as with kube-scheduler.
    assert storage.claim("found")["spec"]["volumeName"] == volume
    assert selected_node(storage, "never") == node


def failed_again(storage: Storage, pod: str) -> bool:
    """Tell whether a pod was not placed more than once; what is said again is told by another event, or by a series."""
    events = storage.kubectl.get("events.events.k8s.io", "-n", storage.namespace)["items"]
    failures = [each for each in events if (each["reason"], each["regarding"].get("name")) == ("FailedScheduling", pod)]
    return sum(int(event.get("series", {}).get("count", 1)) for event in failures) > 1


@pytest.mark.full
def test_no_node_gets_more_volumes_than_it_can_attach(
    storage: Storage, nodes: Callable[[int], list[str]], scheduler: Running
) -> None:
    names = nodes(2)
    remote = storage.create_class("remote", storage.driver)  # by which a claim without a volume is counted, too
    for node in names:
        storage.limit_attachments(node, 1)
    for number in range(3):
        handle = {"driver": storage.driver, "volumeHandle": str(number)}
        storage.create_volume(f"remote-{number}", remote, csi=handle)
        storage.create_claim(f"c-{number}", remote)
    with scheduler():
        for number in range(2):
            storage.create_pod(f"pod-{number}", f"c-{number}")
        placed = [eventually(partial(placed_on, storage, f"pod-{number}")) for number in range(2)]
        storage.create_pod("pod-2", "c-2")
        reason, message = eventually(lambda: (why := why_waiting(storage.pod("pod-2")))[0] and why)
    assert sorted(placed) == sorted(names)
    assert (reason, message.partition(". ")[0]) == (
        "Unschedulable",
        "0/2 nodes are available: 2 node(s) exceed max volume count",
    )
