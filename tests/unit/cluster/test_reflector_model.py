"""Whatever a server does to its streams, the view becomes the server's state once it is left in peace."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import looptime
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.watch.reflector import Reflector
from pilotage.cluster.watch.resources import RESOURCES, ApiResource
from pilotage.cluster.watch.watch_events import ObjectIdentity
from pilotage.kinds.workloads import Namespace

NAMESPACES: ApiResource[Namespace] = next(each for each in RESOURCES if each.plural == "namespaces")
EXPIRED = {"code": 410, "reason": "Expired", "message": "too old"}
Manifest = dict[str, Any]


class Server:
    """Keeps every version of every object, and treats its clients badly until it is calm."""

    def __init__(self, random: Random, *, streams_lists: bool, malice: float) -> None:
        self.random = random
        self.streams_lists = streams_lists
        self.malice = malice  # how likely each mischief is
        self.version = 1
        self.compacted = 0
        self.history: list[tuple[int, str, Manifest]] = []
        self.snapshots: dict[int, dict[str, Manifest]] = {1: {}}
        self.news = asyncio.Event()

    @property
    def state(self) -> dict[str, Manifest]:
        return self.snapshots[self.version]

    # What happens to the objects.

    def put(self, name: str, *, is_broken: bool) -> None:
        old = self.state.get(name)
        uid = old["metadata"]["uid"] if old else f"{name}-{self.version + 1}"
        metadata: Manifest = {"name": name, "uid": uid, "resourceVersion": str(self.version + 1)}
        if is_broken:
            metadata["labels"] = "none"
        self._commit(
            "MODIFIED" if old else "ADDED", {"metadata": metadata}, {**self.state, name: {"metadata": metadata}}
        )

    def delete(self, name: str) -> None:
        rest = dict(self.state)
        old = rest.pop(name, None)
        if old is not None:
            metadata = {**old["metadata"], "resourceVersion": str(self.version + 1)}
            self._commit("DELETED", {"metadata": metadata}, rest)

    def compact(self) -> None:
        self.compacted = self.random.randint(self.compacted, self.version)

    def _commit(self, kind: str, manifest: Manifest, state: dict[str, Manifest]) -> None:
        self.version += 1
        self.snapshots[self.version] = state
        self.history.append((self.version, kind, manifest))
        self.news.set()
        self.news = asyncio.Event()

    # What clients see.

    async def get(self, path: str, query: Mapping[str, str] = {}, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        self._maybe_refuse()
        if "continue" in query:
            version, offset = map(int, query["continue"].split("/"))
            if self._mischief() or version < self.compacted:
                raise _refusal(EXPIRED)
        else:
            version, offset = self._snapshot(query.get("resourceVersion", "")), 0
        items = list(self.snapshots[version].values())
        page = items[offset : offset + 2] if "limit" in query else items
        rest = f"{version}/{offset + 2}" if len(page) < len(items) - offset else ""
        return msgspec.json.encode({"metadata": {"resourceVersion": str(version), "continue": rest}, "items": page})

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        query: Mapping[str, str],
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if "watch" not in query:
            yield self._cut(await self.get(path, query))
            return
        self._maybe_refuse()
        begins_with_list = "sendInitialEvents" in query
        asked = query["resourceVersion"]
        if begins_with_list and not self.streams_lists:
            raise _refusal({"code": 422, "reason": "Invalid", "message": "sendInitialEvents is forbidden"})
        if asked and int(asked) < self.compacted:
            if self.random.random() < 0.5:
                raise _refusal(EXPIRED)
            yield _one_chunk(_line("ERROR", EXPIRED))
            return
        yield self._chunks(self._snapshot(asked) if begins_with_list else int(asked), begins_with_list=begins_with_list)

    async def _chunks(self, version: int, *, begins_with_list: bool) -> AsyncIterator[bytes]:
        if begins_with_list:
            lines = [_line("ADDED", manifest) for manifest in self.snapshots[version].values()]
            if self._mischief():
                yield b"".join(lines[: len(lines) // 2])
                return
            async for piece in self._cut(b"".join([*lines, _bookmark(version, ends_list=True)])):
                yield piece
        while True:
            lines = [_line(kind, manifest) for number, kind, manifest in self.history if number > version]
            version = self.version
            async for piece in self._cut(b"".join(self._disturbed(lines))):
                yield piece
            if self._mischief():
                async for piece in self._last_words():
                    yield piece
                return
            async for piece in self._cut(await self._wait(version)):
                yield piece

    def _disturbed(self, lines: list[bytes]) -> list[bytes]:
        """Swap neighbours, and repeat what was said long ago."""
        lines = list(lines)
        for place in range(len(lines) - 1):
            if self._mischief():
                lines[place], lines[place + 1] = lines[place + 1], lines[place]
        for place in range(len(lines), -1, -1):
            if self._mischief() and self.history:
                _, kind, manifest = self.random.choice(self.history)
                if int(manifest["metadata"]["resourceVersion"]) <= self.version:
                    lines.insert(place, _line(kind, manifest))
        return lines

    async def _last_words(self) -> AsyncIterator[bytes]:
        match self.random.randrange(6):
            case 0:
                yield _line("ADDED", {"metadata": {"name": "never"}})[:-9]
            case 1:
                yield b"garbage\n"
            case 2:
                yield _line("ERROR", {"code": 500, "message": "oh"})
            case 3:
                yield _line("ERROR", {"code": 429, "details": {"retryAfterSeconds": 3}})
            case 4:
                raise OutcomeUnknown("lost")
            case _:
                await asyncio.sleep(1000)  # silence

    async def _wait(self, version: int) -> bytes:
        if self.version > version:
            return b""
        try:
            async with asyncio.timeout(60):
                await self.news.wait()
        except TimeoutError:
            return _bookmark(version)
        return b""

    async def _cut(self, text: bytes) -> AsyncIterator[bytes]:
        while text:
            size = self.random.randint(1, len(text)) if self._mischief() else len(text)
            piece, text = text[:size], text[size:]
            yield piece

    def _snapshot(self, asked: str) -> int:
        if not asked:
            return self.version
        oldest = max(int(asked), self.compacted, 1)
        return self.random.choice([number for number in self.snapshots if number >= oldest])

    def _maybe_refuse(self) -> None:
        if self._mischief():
            raise self.random.choice(
                [
                    Unreachable("refused"),
                    OutcomeUnknown("lost"),
                    ConnectionResetError("reset"),
                    _refusal({"code": 500, "message": "oh"}),
                    _refusal({"code": 429, "message": "busy"}, retry_after=2.0),
                    _refusal({"code": 403, "message": "who are you?"}),
                    _refusal(EXPIRED),
                ]
            )

    def _mischief(self) -> bool:
        return self.random.random() < self.malice


def _refusal(status: Manifest, retry_after: float | None = None) -> ApiError:
    reason, message = status.get("reason", ""), status["message"]
    return ApiError(status["code"], reason=reason, message=message, retry_after=retry_after, body=b"")


def _line(kind: str, manifest: Manifest) -> bytes:
    return msgspec.json.encode({"type": kind, "object": manifest}) + b"\n"


def _bookmark(version: int, *, ends_list: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if ends_list else {}
    return _line("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}})


async def _one_chunk(chunk: bytes) -> AsyncIterator[bytes]:
    yield chunk


class View:
    """A sink that believes what it is told, and minds when it makes no sense."""

    def __init__(self) -> None:
        self.objects: dict[str, Namespace] = {}
        self.broken: set[str] = set()
        self.complaints: list[str] = []

    def added(self, new: Namespace) -> None:
        self._expect(new.metadata.name not in self.objects, f"{new} was there")
        self.objects[new.metadata.name] = new
        self.broken.discard(new.metadata.name)

    def updated(self, old: Namespace, new: Namespace) -> None:
        self._expect(self.objects.get(old.metadata.name) is old, f"{old} was not there")
        self._expect(old.metadata.uid == new.metadata.uid, f"{old} became {new}")
        self._expect(old.metadata.resource_version != new.metadata.resource_version, f"{old} did not change")
        self.objects[new.metadata.name] = new

    def deleted(self, last: Namespace) -> None:
        self._expect(self.objects.pop(last.metadata.name, None) is last, f"{last} was not there")

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        self._expect(metadata.name not in self.objects, f"{metadata} was not deleted")
        self.broken.add(metadata.name)

    def vanished(self, metadata: ObjectIdentity) -> None:
        self._expect(metadata.name in self.broken, f"{metadata} could be understood")
        self.broken.discard(metadata.name)

    def _expect(self, holds: bool, complaint: str) -> None:
        if not holds:
            self.complaints.append(complaint)


NAMES = st.sampled_from("abc")
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES),
    st.tuples(st.just("break"), NAMES),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("replace"), NAMES),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.5, 5.0, 100.0])),
)


@examples(300)
@given(
    steps=st.lists(STEPS, max_size=40),
    seed=st.integers(0, 2**32),
    streams_lists=st.booleans(),
    malice=st.sampled_from([0.0, 0.05, 0.2, 0.5]),
)
def test_the_view_becomes_the_servers_state(
    steps: list[tuple[str, Any]], seed: int, streams_lists: bool, malice: float
) -> None:
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(start=0, noop_cycles=0)) as runner:
        runner.run(_live(steps, Random(seed), streams_lists=streams_lists, malice=malice))


async def _live(steps: list[tuple[str, Any]], random: Random, *, streams_lists: bool, malice: float) -> None:
    server, view = Server(random, streams_lists=streams_lists, malice=malice), View()
    reflector = Reflector(server, NAMESPACES, view, clock=asyncio.get_running_loop().time)
    task = asyncio.create_task(reflector.run())
    for action, subject in steps:
        await _take(server, action, subject)
    server.malice = 0.0
    await asyncio.sleep(400)  # silence and the longest back-off end within this
    try:
        assert not task.done()
        _compare(server, view, reflector)
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _take(server: Server, action: str, subject: Any) -> None:
    match action:
        case "put" | "break":
            server.put(subject, is_broken=action == "break")
        case "delete":
            server.delete(subject)
        case "replace":
            server.delete(subject)
            server.put(subject, is_broken=False)
        case "compact":
            server.compact()
        case "wait":
            await asyncio.sleep(subject)


def _compare(server: Server, view: View, reflector: Reflector[Namespace]) -> None:
    state = {name: given["metadata"] for name, given in server.state.items()}
    expected = {name: given["resourceVersion"] for name, given in state.items() if "labels" not in given}
    assert view.complaints == []
    assert {name: given.metadata.resource_version for name, given in view.objects.items()} == expected
    assert reflector.objects == view.objects
    assert set(reflector.undecodable) == view.broken == {name for name, given in state.items() if "labels" in given}
    assert (reflector.is_synced, reflector.sink_errors, reflector.trouble) == (True, 0, "")
