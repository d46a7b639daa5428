"""Sees pods being bound, through one watch."""

import asyncio
import time
from collections import defaultdict
from typing import NamedTuple

import msgspec

from bench.live import protobuf
from bench.live.connection import Door
from bench.live.watch import Listed, Sight, Watch

# Only pods that have a node: half of the events, and each is the one that is waited for.
PATH = "/api/v1/pods?fieldSelector=spec.nodeName%21%3D"


class Key(NamedTuple):
    """The identity of a pod."""

    namespace: str
    name: str


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata


class _Event(msgspec.Struct):
    type: str
    object: _Pod


_decode = msgspec.json.Decoder(_Event).decode


class BoundPods:
    """When each pod was seen with a node for the first time, by namespace, and when others left theirs."""

    def __init__(self, door: Door, *, as_protobuf: bool) -> None:
        """Look in the encoding that the scheduler uses: the API server then encodes each event once."""
        self.times: defaultdict[str, dict[str, float]] = defaultdict(dict)  # namespace -> name -> seconds
        self.left: list[float] = []  # when pods with a node were seen to be gone
        self._news = asyncio.Event()
        read = read_frames if as_protobuf else read_lines
        watch = Watch(door, PATH, read_list, read, self._saw, as_protobuf=as_protobuf)
        self._task = asyncio.create_task(watch.run())

    def close(self) -> None:
        """Stop watching."""
        self._task.cancel()

    def count(self, namespace: str) -> int:
        """How many pods of a namespace were bound so far."""
        return len(self.times[namespace])

    async def news(self, seconds: float) -> None:
        """Wait until something was bound, or for so long; a watch that failed is raised."""
        if self._task.done():
            self._task.result()
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return

    def _saw(self, seen: list[Sight[Key]]) -> None:
        now = time.monotonic()
        for sight in seen:
            if sight.kind == "ADDED":
                self.times[sight.object.namespace].setdefault(sight.object.name, now)
            elif sight.kind == "DELETED":
                self.left.append(now)
        self._news.set()


def read_list(body: bytes) -> Listed[Key]:
    """The existing objects."""
    found = msgspec.json.decode(body, type=Listed[_Pod])
    return Listed(found.metadata, [Key(pod.metadata.namespace, pod.metadata.name) for pod in found.items])


def read_lines(received: bytearray) -> list[Sight[Key]]:
    """The events of a watch in JSON, a line each; the last line may not be whole yet."""
    end = received.rfind(b"\n") + 1
    events = [_decode(line) for line in bytes(received[:end]).splitlines()]
    del received[:end]
    found = ((event.type, event.object.metadata) for event in events)
    return [Sight(kind, one.resource_version, Key(one.namespace, one.name)) for kind, one in found]


def read_frames(received: bytearray) -> list[Sight[Key]]:
    """The events of a watch in protobuf, each behind its length; the last may not be whole yet."""
    found = []
    start = 0
    while len(received) >= start + 4:
        end = start + 4 + int.from_bytes(received[start : start + 4], "big")
        if len(received) < end:
            break
        event = protobuf.event(bytes(received[start + 4 : end]))
        found.append(Sight(event.kind, event.version, Key(event.namespace, event.name)))
        start = end
    del received[:start]
    return found
