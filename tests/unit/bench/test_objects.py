"""The objects of a workload as requests."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.live import objects
from bench.live.churn import churn
from bench.live.objects import Write
from bench.live.operations import Churn, Count, CreateNamespaces, CreateNodes, CreatePods, Template


@pytest.fixture
def pod(tmp_path: Path) -> Template:
    file = tmp_path / "pod.yaml"
    file.write_text("{apiVersion: v1, kind: Pod, metadata: {generateName: web-, labels: {a: b}}, spec: {x: 1}}")
    return Template(file)


def _body(write: Write) -> dict[str, Any]:
    return dict(json.loads(write.body))


def test_nodes_have_the_usual_room_a_host_name_and_labels_in_turn() -> None:
    made = objects.nodes(CreateNodes(Count(3), label="zone", values=("a", "b")), 0)
    bodies = [_body(write) for item in made for write in item]
    assert [body["metadata"]["labels"]["zone"] for body in bodies] == ["a", "b", "a"]
    assert [body["metadata"]["name"] for body in bodies] == ["node-0-0", "node-0-1", "node-0-2"]
    assert bodies[2]["metadata"]["labels"]["kubernetes.io/hostname"] == "node-0-2"
    assert bodies[0]["status"]["allocatable"] == {"pods": "110", "cpu": "4", "memory": "32Gi"}


def test_nodes_from_a_file_keep_its_name_or_get_one_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_text("{kind: Node, metadata: {generateName: perf-}, status: {capacity: {cpu: 1}}}")
    made = objects.nodes(CreateNodes(Count(2), Template(tmp_path / "n.yaml"), label="own"), 4)
    assert [item[0].name for item in made] == ["perf-4-0", "perf-4-1"]
    own = {_body(item[0])["metadata"]["labels"]["own"] for item in made}
    assert len(own) == 2
    (tmp_path / "m.yaml").write_text("{kind: Node, metadata: {name: only}}")
    assert objects.nodes(CreateNodes(Count(1), Template(tmp_path / "m.yaml")), 0)[0][0].name == "only"


def test_nodes_that_take_volumes_come_with_a_csi_node(tmp_path: Path) -> None:
    step = CreateNodes(Count(1), allocatable={"vols": "39"}, attachable={"d": {"count": 39}}, migrated=("p", "q"))
    node, csi = objects.nodes(step, 0)[0]
    assert _body(node)["status"]["allocatable"] == {"pods": "110", "cpu": "4", "memory": "32Gi", "vols": "39"}
    assert _body(csi)["spec"] == {"drivers": [{"name": "d", "nodeID": "node-0-0", "allocatable": {"count": 39}}]}
    assert csi.path == "/apis/storage.k8s.io/v1/csinodes"


def test_pods_from_a_file_are_named_here_and_marked_as_upstream_marks_them(pod: Template) -> None:
    made = [item[0] for item in objects.pods(CreatePods(Count(3), pod, alike=2), "ns", 5)]
    assert [write.key for write in made] == ["ns/web-5-0", "ns/web-5-1", "ns/web-5-2"]
    assert {write.path for write in made} == {"/api/v1/namespaces/ns/pods"}
    marks = [_body(write)["metadata"]["labels"] for write in made]
    assert marks[1:] == [{"a": "b", "signature": f"signature-label-{number}"} for number in (0, 1)]


def test_pods_without_a_file_ask_for_a_little() -> None:
    body = _body(objects.pods(CreatePods(Count(1)), "ns", 2)[0][0])
    assert body["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "100m", "memory": "500Mi"}
    assert "labels" not in body["metadata"]


def test_a_pod_with_a_volume_comes_after_claim_and_volume_that_are_bound(pod: Template, tmp_path: Path) -> None:
    (tmp_path / "pv.yaml").write_text("{kind: PersistentVolume, spec: {csi: {driver: d}}}")
    (tmp_path / "pvc.yaml").write_text("{kind: PersistentVolumeClaim, spec: {}}")
    step = CreatePods(Count(1), pod, volume=Template(tmp_path / "pv.yaml"), claim=Template(tmp_path / "pvc.yaml"))
    claim, claim_status, volume, volume_status, last = objects.pods(step, "ns", 0)[0]
    assert _body(claim)["spec"] == {"volumeName": "ns-vol-0"}
    assert _body(volume)["spec"]["csi"]["volumeHandle"] == "ns-vol-0"
    assert _body(volume)["spec"]["claimRef"]["name"] == "pvc-0"
    assert claim_status.path == "/api/v1/namespaces/ns/persistentvolumeclaims/pvc-0/status"
    assert (volume_status.method, _body(volume_status)) == ("PATCH", {"status": {"phase": "Bound"}})
    assert _body(last)["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "pvc-0"}


def test_namespaces_are_numbered_and_have_the_labels_of_their_file(tmp_path: Path) -> None:
    (tmp_path / "ns.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {labels: {team: t}}}")
    made = objects.namespaces(CreateNamespaces("init", Count(2), Template(tmp_path / "ns.yaml")))
    assert [write.name for write in made] == ["init-0", "init-1"]
    assert _body(made[1])["metadata"]["labels"] == {"team": "t"}


def test_a_list_knows_which_pods_were_tried() -> None:
    pods: list[dict[str, Any]] = [{"metadata": {"name": "a"}, "status": {}}]
    pods += [{"metadata": {"name": "b"}, "status": {"conditions": [{"type": "PodScheduled"}]}}]
    listed = objects.listed(json.dumps({"items": pods}).encode())
    assert [(one.metadata.name, one.is_tried) for one in listed] == [("a", False), ("b", True)]


class _Recorder:
    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    async def send(self, write: Write, *, accepted: tuple[int, ...]) -> None:
        assert 404 in accepted
        self.calls.append((write.method, write.name or write.path.rsplit("/", 1)[1]))
        if len(self.calls) == 6:
            raise EndOfTest


class EndOfTest(Exception):
    """Enough was seen."""


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param(
            {"recreate": False},
            [("POST", f"web-3-0-{turn}-0") for turn in range(6)],
            id="some come",
        ),
        pytest.param(
            {"recreate": True, "number": 2},
            [
                ("POST", "web-3-0-0-0"),
                ("POST", "web-3-0-1-0"),
                ("DELETE", "web-3-0-0-0"),
                ("DELETE", "web-3-0-1-0"),
                ("POST", "web-3-0-0-1"),
                ("POST", "web-3-0-1-1"),
            ],
            id="some come and go, under new names",
        ),
    ],
)
async def test_churn(pod: Template, step: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    recorder = _Recorder()
    with pytest.raises(EndOfTest):
        await churn(recorder, Churn((pod,), seconds=0, **step), "ns", 3)  # type: ignore[arg-type]
    assert recorder.calls == expected


async def test_churn_of_a_number_ends(pod: Template) -> None:
    recorder = _Recorder()
    await churn(recorder, Churn((pod,), recreate=False, number=3, seconds=0), "ns", 3)  # type: ignore[arg-type]
    assert len(recorder.calls) == 3
