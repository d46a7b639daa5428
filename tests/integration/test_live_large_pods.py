"""Pods as large as a real API server stores them do not keep anybody from seeing the others.

The API server writes < as \\u003c: a pod of 1.45 MB, which etcd takes, is 8.7 MB of JSON for whoever watches.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from typing import Any

import pytest

from kit.admin import Admin
from kit.control_plane import ControlPlane
from kit.fixtures import Audit, Nodes
from kit.looking_glass import LookingGlass, free_port
from kit.stage import Stage
from pilotage.cluster.credentials import access
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.watch.known_objects import KnownObjects
from pilotage.cluster.watch.listing import Lister
from pilotage.cluster.watch.reflector import Reflector
from pilotage.cluster.watch.resources import PODS, ApiResource
from pilotage.cluster.watch.watch_events import EventReader, ObjectIdentity
from pilotage.model.pod import Pod
from pilotage.testing import node_manifest, pod_manifest
from pilotage_operator.controllers.registry import PODS as OPERATOR_PODS
from pilotage_operator.controllers.watching import api_resource

LARGE, NAMES = "<" * 1_450_000, [f"large-{number}" for number in range(9)]
NOBODY = "nobody"  # a scheduler that there is not
TERMS = 118_000  # of 13 bytes each in etcd, and 93 as JSON
PATIENCE = 120.0  # seconds
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str) -> Iterator[Stage]:
    """A namespace with nine such pods; they are gone at the end, before others look."""
    with closing(Admin(control_plane.cluster)) as admin:
        stage = Stage(admin, namespace)
        for name in NAMES:
            admin.post(f"/api/v1/namespaces/{namespace}/pods", large_pod(name, namespace))
        yield stage
        admin.delete(f"/api/v1/namespaces/{namespace}/pods", gracePeriodSeconds=0)


def large_pod(name: str, namespace: str, scheduler: str = NOBODY) -> dict[str, Any]:
    manifest = pod_manifest(name, namespace=namespace, scheduler=scheduler)
    manifest["spec"]["containers"][0]["env"] = [{"name": "A", "value": LARGE}]
    return manifest


def test_the_scheduler_sees_everything_and_places_pods(
    control_plane: ControlPlane, stage: Stage, fake_nodes: Nodes, audit: Audit
) -> None:
    fake_nodes(node_manifest(f"{stage.namespace}-n"))
    port = free_port()
    flags = (f"--secure-port={port}", "--bind-address=127.0.0.1")
    with (
        audit(serves={"system:kube-scheduler": ["default-scheduler"]}) as auditor,
        control_plane.pilotage(*flags),
        LookingGlass(control_plane.cluster, port) as glass,
    ):
        glass.until_ready()
        stage.create("before")
        stage.until_bound("before")
        for number in range(5):
            stage.change(NAMES[0], {"metadata": {"annotations": {"round": str(number)}}})
            stage.create(f"round-{number}")
            stage.until_bound(f"round-{number}")
        stage.admin.post(f"/api/v1/namespaces/{stage.namespace}/pods", large_pod("own", stage.namespace, ""))
        stage.until_bound("own")
        told = glass.metrics()
    about_pods = {name: number for (name, labels), number in told.items() if labels == 'resource="pods"'}
    assert about_pods["pilotage_watch_errors_total"] == 0
    assert about_pods["pilotage_watch_lists_total"] == 1
    assert about_pods["pilotage_watch_undecodable_objects"] == 0
    assert about_pods["pilotage_watch_skipped_total"] == 0
    assert auditor.report["violations"] == []


class View:
    """A sink that keeps what it is told."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}

    def added(self, new: Pod) -> None:
        self.pods[new.key] = new

    def updated(self, old: Pod, new: Pod) -> None:
        self.pods[new.key] = new

    def deleted(self, last: Pod) -> None:
        self.pods.pop(last.key, None)

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        raise AssertionError(f"{metadata.name}: {reason}")

    def vanished(self, metadata: ObjectIdentity) -> None:
        raise AssertionError(metadata.name)


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param(PODS, id="scheduler"),
        pytest.param(api_resource(OPERATOR_PODS, is_kept=False), id="operator", marks=pytest.mark.full),
    ],
)
async def test_an_informer_follows_each_change(
    control_plane: ControlPlane, stage: Stage, resource: ApiResource[Pod], capsys: pytest.CaptureFixture[str]
) -> None:
    api, view = ApiClient(access.find(str(control_plane.kubeconfig)), agent="test"), View()
    reflector = Reflector(api, resource, view)
    task = asyncio.create_task(reflector.run())
    key = f"{stage.namespace}/{NAMES[0]}"
    ages = []
    try:
        async with asyncio.timeout(PATIENCE):
            await reflector.wait_until_synced()
            assert {f"{stage.namespace}/{name}" for name in NAMES} <= view.pods.keys()
            for number in range(5):
                change = {"metadata": {"annotations": {"round": str(number)}}}
                await asyncio.to_thread(stage.change, NAMES[0], change)
                began = time.monotonic()
                while view.pods[key].metadata.annotations.get("round") != str(number):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.02)
                ages.append(time.monotonic() - began)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await api.close()
    assert (reflector.errors, reflector.skipped, reflector.watches, reflector.streamed_lists) == (0, 0, 1, 1)
    with capsys.disabled():
        print(f"\na change of a pod of 8.7 MB was seen after {max(ages):.2f} s at the latest")


@pytest.mark.parametrize(
    "version", [pytest.param("", id="in pages from etcd"), pytest.param("0", id="from memory", marks=pytest.mark.full)]
)
async def test_a_plain_list_has_all_of_them(control_plane: ControlPlane, stage: Stage, version: str) -> None:
    api = ApiClient(access.find(str(control_plane.kubeconfig)), agent="test")
    try:
        found, at = await Lister(api, PODS, EventReader(PODS)).list(version)
    finally:
        await api.close()
    assert {f"{stage.namespace}/{name}" for name in NAMES} <= found.objects.keys()
    assert not found.undecodable
    assert at.isdecimal()


async def test_the_largest_pod_that_the_api_server_stores_is_read(control_plane: ControlPlane, namespace: str) -> None:
    size = await asyncio.to_thread(partial(create_many_terms, control_plane, namespace))
    api = ApiClient(access.find(str(control_plane.kubeconfig)), agent="test")
    try:
        found: KnownObjects[Pod] = (await Lister(api, PODS, EventReader(PODS)).list(""))[0]
    finally:
        await api.close()
        control_plane.kubectl("delete", "pod", "terms", "-n", namespace, "--grace-period=0", "--force")
    assert size > 10_000_000
    assert f"{namespace}/terms" in found.objects


def create_many_terms(control_plane: ControlPlane, namespace: str) -> int:
    """Create a pod of short affinity terms as protobuf, the only way in for so much; returns its size as JSON."""
    term = _field(2, b"\x08\x01" + _field(2, _field(1, b"") + _field(3, b"a") + _field(4, b"")))
    spec = _field(2, _field(1, b"c") + _field(2, b"i")) + _field(18, _field(2, term * TERMS)) + _field(19, b"nobody")
    pod = _field(1, _field(1, b"terms") + _field(3, namespace.encode())) + _field(2, spec)
    body = b"k8s\x00" + _field(1, _field(1, b"v1") + _field(2, b"Pod")) + _field(2, pod)
    with closing(Admin(control_plane.cluster)) as admin:
        return len(admin.ask("POST", f"/api/v1/namespaces/{namespace}/pods", body, PROTOBUF))


def _field(number: int, content: bytes) -> bytes:
    """Return a field of a message of protobuf."""
    return _number(number << 3 | 2) + _number(len(content)) + content


def _number(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*parts, value))
