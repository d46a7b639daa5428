"""Binds every pod to the next node without any decision: no scheduler can be faster on the same API server."""

import argparse
import asyncio
import itertools
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import yaml

from bench.live.connection import Connection, Door
from bench.live.objects import Write
from bench.live.watch import Listed, Sight, Watch

BINDERS, WRITERS = 24, 8
BUSY = (429, 500, 503, 504)
NODES = "/api/v1/nodes?resourceVersion=0"
PENDING = "/api/v1/pods?fieldSelector=spec.nodeName%3D"


class Metadata(msgspec.Struct, rename="camel"):
    """The metadata of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Spec(msgspec.Struct, rename="camel"):
    """What keeps a pod from being bound."""

    scheduling_gates: list[msgspec.Raw] = []


class Pod(msgspec.Struct):
    """A pod that waits, or a node."""

    metadata: Metadata
    spec: Spec = msgspec.field(default_factory=Spec)


class Event(msgspec.Struct):
    """One event of a watch."""

    type: str
    object: Pod


class Placed(msgspec.Struct):
    """A pod and where it goes."""

    pod: Metadata
    node: str


_decode = msgspec.json.Decoder(Event).decode


class Ceiling:
    """Two lines of work: pods to bind, and events to write behind them."""

    def __init__(self, door: Door, *, with_events: bool) -> None:
        self._door = door
        self._with_events = with_events
        self._pods: deque[Placed] = deque()
        self._bound: deque[Placed] = deque()
        self._more_pods, self._more_bound = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Bind until the end."""
        tls = self._door.tls()
        first = await Connection.open(self._door, tls)
        answer = await first.send(Write("GET", NODES, b""))
        self._nodes = itertools.cycle([item.metadata.name for item in read_list(answer.body).items])
        watch = Watch(self._door, PENDING, read_list, read_pods, self._saw)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(BINDERS):
                tasks.create_task(self._work(tls, self._pods, self._more_pods, self._bind))
            for _ in range(WRITERS):
                tasks.create_task(self._work(tls, self._bound, self._more_bound, self._write_event))
            tasks.create_task(watch.run())

    def _saw(self, seen: list[Sight[Pod]]) -> None:
        for sight in seen:
            if sight.kind == "ADDED" and not sight.object.spec.scheduling_gates:
                self._pods.append(Placed(sight.object.metadata, next(self._nodes)))
        self._more_pods.set()

    async def _work(
        self,
        tls: ssl.SSLContext,
        queue: deque[Placed],
        more: asyncio.Event,
        work: Callable[[Connection, Placed], Awaitable[None]],
    ) -> None:
        connection = await Connection.open(self._door, tls)
        while True:
            while queue:
                await work(connection, queue.popleft())
            more.clear()
            await more.wait()

    async def _bind(self, connection: Connection, placed: Placed) -> None:
        pod = placed.pod
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": placed.node},
        }
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
        answer = await connection.send(Write("POST", path, msgspec.json.encode(body)))
        if answer.status == 201 and self._with_events:
            self._bound.append(placed)
            self._more_bound.set()
        elif answer.status in BUSY:
            self._pods.append(placed)
        # Otherwise the pod has gone meanwhile, or was bound before: workloads delete some, lists tell twice.

    async def _write_event(self, connection: Connection, placed: Placed) -> None:
        pod = placed.pod
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{pod.name}.{pod.uid[:16]}", "namespace": pod.namespace},
            "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": "default-scheduler",
            "reportingInstance": "default-scheduler-ceiling",
            "action": "Binding",
            "reason": "Scheduled",
            "type": "Normal",
            "note": f"Successfully assigned {pod.namespace}/{pod.name} to {placed.node}",
            "regarding": {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        }
        path = f"/apis/events.k8s.io/v1/namespaces/{pod.namespace}/events"
        answer = await connection.send(Write("POST", path, msgspec.json.encode(body)))
        if answer.status in BUSY:
            self._bound.append(placed)


def read_list(body: bytes) -> Listed[Pod]:
    """The existing objects."""
    return msgspec.json.decode(body, type=Listed[Pod])


def read_pods(received: bytearray) -> list[Sight[Pod]]:
    """The events of a watch in JSON, a line each; the last line may not be whole yet."""
    end = received.rfind(b"\n") + 1
    events = [_decode(line) for line in bytes(received[:end]).splitlines()]
    del received[:end]
    return [Sight(event.type, event.object.metadata.resource_version, event.object) for event in events]


def door_of(kubeconfig: Path) -> Door:
    """The endpoint in a kubeconfig of the benchmark."""
    content = yaml.safe_load(kubeconfig.read_text())
    cluster = content["clusters"][0]["cluster"]
    port = urlsplit(cluster["server"]).port
    assert port is not None
    return Door(port, content["users"][0]["user"]["token"], cluster["certificate-authority"])


def main() -> None:
    """Run until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("--no-events", action="store_true", help="Bind only.")
    given = parser.parse_args()
    asyncio.run(Ceiling(door_of(given.kubeconfig), with_events=not given.no_events).run())


if __name__ == "__main__":
    main()
