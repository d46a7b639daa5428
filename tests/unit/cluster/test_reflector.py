"""Listing and watching, against a server that does as it is told; time is virtual."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.watch.large_objects import LargeReader
from pilotage.cluster.watch.reflector import Reflector
from pilotage.cluster.watch.resources import RESOURCES, ApiResource
from pilotage.cluster.watch.watch_events import EventReader, ObjectIdentity
from pilotage.kinds.workloads import Namespace

pytestmark = pytest.mark.looptime

NAMESPACES: ApiResource[Namespace] = next(each for each in RESOURCES if each.plural == "namespaces")
# One step of a stream: bytes to send, seconds to wait, or an error.
Step = bytes | float | Exception
Answer = bytes | Exception | list[Step]
FOREVER = 1e6


def error(status: int, reason: str = "", retry_after: float | None = None, message: str = "oh") -> ApiError:
    return ApiError(status, reason=reason, message=message, retry_after=retry_after, body=b"")


def thing(name: str, version: int, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version), **metadata}}


def line(kind: str, given: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "object": given}) + b"\n"


def added(name: str, version: int, **metadata: Any) -> bytes:
    return line("ADDED", thing(name, version, **metadata))


def deleted(name: str, version: int) -> bytes:
    return line("DELETED", thing(name, version))


def bookmark(version: int) -> bytes:
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def list_end(version: int) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"}
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}})


def error_event(code: int, reason: str = "", **details: Any) -> bytes:
    return line("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": "oh", "details": details})


def heartbeats(version: int, count: int) -> list[Step]:
    """Return bookmarks, one a minute."""
    return [step for _ in range(count) for step in (60.0, bookmark(version))]


def listed(version: int, *things: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": str(version)}, "items": things})


class Api:
    """Gives one prepared answer after the other; when there are none left, streams stay open and silent."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[str] = []
        self.times: list[float] = []
        self.queries: list[dict[str, str]] = []
        self.open_streams = 0

    async def get(self, path: str, query: Mapping[str, str] = {}, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        self._note("list", query)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, bytes)
        return answer

    def stream(
        self, path: str, query: Mapping[str, str], *, timeout: float | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        assert path == "/api/v1/namespaces"
        if "watch" not in query:
            return self._listed(query)
        self._note("stream" if "sendInitialEvents" in query else "watch", query)
        return self._opened(self.answers.pop(0) if self.answers else [FOREVER])

    @asynccontextmanager
    async def _listed(self, query: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._chunks([await self.get("/api/v1/namespaces", query)])

    @asynccontextmanager
    async def _opened(self, answer: Answer) -> AsyncIterator[AsyncIterator[bytes]]:
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, list)
        self.open_streams += 1
        try:
            yield self._chunks(answer)
        finally:
            self.open_streams -= 1

    async def _chunks(self, steps: list[Step]) -> AsyncIterator[bytes]:
        for step in steps:
            if isinstance(step, bytes):
                yield step
            elif isinstance(step, Exception):
                raise step
            else:
                await asyncio.sleep(step)

    def _note(self, verb: str, query: Mapping[str, str]) -> None:
        self.requests.append(f"{verb} {query.get('resourceVersion', '-')}")
        self.times.append(asyncio.get_running_loop().time())
        self.queries.append(dict(query))


class View:
    """A sink that keeps what it was told, and insists that it makes sense."""

    def __init__(self) -> None:
        self.objects: dict[str, str] = {}
        self.told: list[str] = []

    def added(self, new: Namespace) -> None:
        assert new.metadata.name not in self.objects
        self._keep("added", new)

    def updated(self, old: Namespace, new: Namespace) -> None:
        assert self.objects[old.metadata.name] == old.metadata.resource_version
        assert old.metadata.uid == new.metadata.uid
        self._keep("updated", new)

    def deleted(self, last: Namespace) -> None:
        assert self.objects.pop(last.metadata.name) == last.metadata.resource_version
        self.told.append(f"deleted {last.metadata.name}")

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        assert metadata.name not in self.objects
        self.told.append(f"undecodable {metadata.name}")

    def vanished(self, metadata: ObjectIdentity) -> None:
        self.told.append(f"vanished {metadata.name}")

    def _keep(self, verb: str, new: Namespace) -> None:
        self.objects[new.metadata.name] = new.metadata.resource_version
        self.told.append(f"{verb} {new.metadata.name}")


class World:
    """A reflector at work."""

    def __init__(self, api: Api, **options: Any) -> None:
        self.api = api
        self.view = View()
        clock = asyncio.get_running_loop().time
        resource = replace(NAMESPACES, optional=options.pop("optional", False))
        self.reflector: Reflector[Namespace] = Reflector(api, resource, self.view, clock=clock, **options)


@asynccontextmanager
async def reflecting(*answers: Answer, **options: Any) -> AsyncIterator[World]:
    world = World(Api(*answers), **options)
    task = asyncio.create_task(world.reflector.run())
    try:
        yield world
        assert not task.done()
        assert world.reflector.sink_errors == 0
        assert {
            key: each.metadata.resource_version for key, each in world.reflector.objects.items()
        } == world.view.objects
    finally:
        task.cancel()
        await asyncio.wait([task])
    assert world.api.open_streams == 0


ESCAPED = b"\\u003c"  # how the API server writes <


def grown(text: bytes, size: int) -> bytes:
    """Return a line with an annotation that makes it so long."""
    count = (size - len(text)) // len(ESCAPED)
    return text.replace(b"}}}\n", b',"annotations":{"long":"%s"}}}}\n' % (ESCAPED * count))


FIRST: list[Step] = [added("a", 3), added("b", 4), list_end(10)]


class TestLargeObjects:
    """An API server writes one byte as six, so that an object of 1.5 MiB, the most it stores, becomes 9 MiB of JSON."""

    @pytest.mark.parametrize("size", [pytest.param(9 << 20, id="9 MiB"), pytest.param(15 << 20, id="15 MiB")])
    async def test_one_that_the_api_server_can_store_is_like_any_other(self, size: int) -> None:
        large = [grown(added("a", 3), size), added("b", 4), list_end(10)]
        async with reflecting([*large, 1.0, grown(added("a", 11), size), FOREVER]) as world:
            await asyncio.sleep(5)
            assert world.view.told == ["added a", "added b", "updated a"]
            assert world.api.requests == ["stream "]
            assert (world.reflector.errors, world.reflector.skipped) == (0, 0)

    async def test_ten_of_them_in_a_plain_list(self) -> None:
        items = [
            grown(added(f"a{i}", 3 + i), 9 << 20).removeprefix(b'{"type":"ADDED","object":')[:-2] for i in range(10)
        ]
        answer = b'{"metadata":{"resourceVersion":"20"},"items":[%s]}' % b",".join(items)
        async with reflecting(error(422), answer) as world:
            await asyncio.sleep(5)
            assert world.reflector.is_synced
            assert len(world.view.objects) == 10
            assert world.api.requests == ["stream ", "list 0", "watch 20"]

    @pytest.mark.parametrize(
        ("long", "told"),
        [
            pytest.param(
                added("a", 11), ["deleted a", "undecodable a"], id="one that was known is not trusted any more"
            ),
            pytest.param(added("z", 11), ["undecodable z"], id="one that was not known is noted"),
            pytest.param(deleted("a", 11), ["deleted a"], id="one that is gone is gone"),
            pytest.param(line("ADDED", {"x": {"y": {}}}), [], id="one without a name at its beginning is passed over"),
        ],
    )
    async def test_one_that_is_too_long_is_skipped_and_the_stream_goes_on(self, long: bytes, told: list[str]) -> None:
        too_long = grown(long, 17 << 20)
        async with reflecting([*FIRST, 2.0, too_long, added("c", 12), FOREVER]) as world:
            await asyncio.sleep(10)
            assert world.view.told == ["added a", "added b", *told, "added c"]
            assert world.api.requests == ["stream "]
            assert world.reflector.skipped == 1
            assert world.reflector.trouble == ""

    async def test_others_get_their_turn_between_the_steps(self) -> None:
        turns = 0
        reader = LargeReader(EventReader(NAMESPACES))

        async def give_way() -> None:
            nonlocal turns
            turns += 1

        found = await reader.event(grown(added("a", 3), 2 << 20)[:-1], give_way)
        assert isinstance(found, Namespace)
        assert turns >= 4  # before it is cut, before and between the steps of its decoding, and before it is built


class TestFirstList:
    async def test_a_stream_gives_the_list_and_goes_on_as_the_watch(self) -> None:
        async with reflecting([*FIRST, 1.0, added("c", 11), bookmark(15), FOREVER]) as world:
            await asyncio.sleep(0.5)
            assert world.view.told == ["added a", "added b"]
            assert world.reflector.is_synced
            await asyncio.sleep(1.0)
            assert world.view.told == ["added a", "added b", "added c"]
        reflector = world.reflector
        assert (reflector.streamed_lists, reflector.lists, reflector.watches, reflector.errors) == (1, 0, 1, 0)
        (query,) = world.api.queries
        assert 300 <= int(query.pop("timeoutSeconds")) < 600
        assert query == {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "resourceVersion": "",
        }

    async def test_nothing_is_told_before_the_list_is_whole(self) -> None:
        async with reflecting([added("a", 3), 5.0, list_end(10), FOREVER]) as world:
            await asyncio.sleep(4)
            assert (world.view.told, world.reflector.is_synced) == ([], False)
            await world.reflector.wait_until_synced()
            assert world.view.told == ["added a"]

    async def test_what_changes_meanwhile_counts(self) -> None:
        stream: list[Step] = [
            added("a", 3),
            added("b", 4),
            line("MODIFIED", thing("a", 11)),
            deleted("b", 12),
            list_end(12),
            FOREVER,
        ]
        async with reflecting(stream) as world:
            await asyncio.sleep(1)
            assert world.view.objects == {"a": "11"}

    async def test_a_stream_that_breaks_off_before_its_end_changes_nothing(self) -> None:
        async with reflecting(
            [added("a", 3), 2.0, OutcomeUnknown("lost")], [added("b", 4), list_end(9), FOREVER]
        ) as world:
            await asyncio.sleep(10)
            assert world.view.told == ["added b"]
            assert world.api.requests == ["stream ", "stream "]

    @pytest.mark.parametrize("status", [400, 403, 405, 422])
    async def test_a_server_that_does_not_stream_is_asked_for_a_plain_list(self, status: int) -> None:
        async with reflecting(error(status), listed(9, thing("a", 3)), [added("b", 10), FOREVER]) as world:
            await asyncio.sleep(0.1)
            assert world.view.told == ["added a", "added b"]
            assert world.api.requests == ["stream ", "list 0", "watch 9"]
            assert (world.reflector.lists, world.reflector.errors) == (1, 0)

    @pytest.mark.parametrize(
        "failure",
        [
            pytest.param(error(500), id="errors"),
            pytest.param([added("a", 3)], id="streams that end before the list does"),
            pytest.param([2.0, OutcomeUnknown("lost")], id="streams that break off"),
            pytest.param([FOREVER], id="silence"),
        ],
    )
    async def test_after_two_failures_a_plain_list_is_tried(self, failure: Answer) -> None:
        async with reflecting(failure, failure, listed(9, thing("a", 3))) as world:
            await asyncio.sleep(200)
            assert world.api.requests[:4] == ["stream ", "stream ", "list 0", "watch 9"]
            assert world.view.told == ["added a"]

    async def test_after_a_plain_list_the_next_one_is_streamed_again(self) -> None:
        async with reflecting(error(500), error(500), listed(9), error(410), [*FIRST, FOREVER]) as world:
            await asyncio.sleep(30)
            assert world.api.requests == ["stream ", "stream ", "list 0", "watch 9", "stream "]

    async def test_a_server_that_cannot_be_reached_is_asked_for_a_stream_in_the_end(self) -> None:
        async with reflecting(*[Unreachable("refused")] * 5, error(429, retry_after=3), [*FIRST, FOREVER]) as world:
            await asyncio.sleep(60)
            assert world.api.requests == ["stream "] * 7
            assert world.reflector.is_synced

    async def test_bookmarks_without_an_end_lead_to_a_plain_list(self) -> None:
        stream: list[Step] = [added("a", 3), *heartbeats(9, 3)]
        async with reflecting(stream, listed(9, thing("b", 3))) as world:
            await asyncio.sleep(200)
            assert world.api.requests[:2] == ["stream ", "list 0"]
            assert world.view.objects == {"b": "3"}

    async def test_a_line_that_is_no_event_leads_to_a_plain_list(self) -> None:
        async with reflecting([added("a", 3), b"garbage\n"], listed(9, thing("b", 3))) as world:
            await asyncio.sleep(2)
            assert world.api.requests[:3] == ["stream ", "list 0", "watch 9"]


class TestWatch:
    @pytest.mark.parametrize(
        ("end", "soon"),
        [
            pytest.param([], True, id="the end of the stream"),
            pytest.param([OutcomeUnknown("reset")], True, id="a lost connection"),
            pytest.param([b'{"type":"ADD'], False, id="a line that was cut off"),
            pytest.param([error_event(500, "InternalError")], False, id="an error"),
            pytest.param([error_event(429, retryAfterSeconds=1)], False, id="too many requests"),
        ],
    )
    async def test_is_taken_up_from_the_last_version_after(self, end: list[Step], soon: bool) -> None:
        first: list[Step] = [*FIRST, 2.0, added("c", 11), *end]
        async with reflecting(first, [added("d", 12), FOREVER]) as world:
            await asyncio.sleep(2.01 if soon else 4)
            assert world.api.requests == ["stream ", "watch 11"]
            assert world.view.objects == {"a": "3", "b": "4", "c": "11", "d": "12"}
            assert world.view.told == ["added a", "added b", "added c", "added d"]
            assert world.reflector.trouble == ""

    async def test_is_taken_up_from_a_bookmark(self) -> None:
        async with reflecting([*FIRST, 2.0, bookmark(50)]) as world:
            await asyncio.sleep(3)
            assert world.api.requests == ["stream ", "watch 50"]

    async def test_old_news_do_not_move_the_version(self) -> None:
        async with reflecting([*FIRST, added("c", 30), added("a", 3), 2.0]) as world:
            await asyncio.sleep(3)
            assert world.api.requests == ["stream ", "watch 30"]
            assert world.reflector.duplicates == 1

    @pytest.mark.parametrize(
        "gone",
        [
            pytest.param(error(410, "Expired"), id="a refusal"),
            pytest.param(error(410, "Gone"), id="a refusal in old words"),
            pytest.param([error_event(410, "Expired")], id="an event"),
            pytest.param([error_event(500, "Expired")], id="an event with another code"),
            pytest.param(error(504, "Timeout", message="Too large resource version: 9, current: 5"), id="too new"),
        ],
    )
    async def test_a_version_that_is_too_old_needs_a_list_of_the_newest(self, gone: Answer) -> None:
        again: list[Step] = [added("a", 3), added("c", 20), list_end(30), FOREVER]
        async with reflecting([*FIRST, 2.0], gone, again) as world:
            await asyncio.sleep(10)
            assert world.api.requests == ["stream ", "watch 10", "stream "]
            assert world.view.told == ["added a", "added b", "added c", "deleted b"]
            assert world.reflector.streamed_lists == 2

    async def test_a_version_that_is_too_old_is_not_asked_for_in_a_plain_list_either(self) -> None:
        async with reflecting([*FIRST, 2.0], error(410, "Expired"), error(422), listed(30, thing("a", 3))) as world:
            await asyncio.sleep(10)
            assert world.api.requests == ["stream ", "watch 10", "stream ", "list -", "watch 30"]

    @pytest.mark.parametrize(
        "broken",
        [
            pytest.param(b"garbage\n", id="garbage"),
            pytest.param(b'{"type":"ADDED","object":{"metadata"\n', id="half a line"),
            pytest.param(line("NEWS", {}), id="an unknown type of event"),
        ],
    )
    async def test_a_line_that_is_no_event_needs_a_list(self, broken: bytes) -> None:
        async with reflecting([*FIRST, 2.0, added("c", 11), broken, FOREVER], listed(12, thing("c", 11))) as world:
            await asyncio.sleep(10)
            assert world.api.requests == ["stream ", "list 11", "watch 12"]
            assert world.view.objects == {"c": "11"}

    @pytest.mark.parametrize(
        "failure",
        [
            pytest.param([error_event(500)], id="error events"),
            pytest.param(error(500), id="refusals"),
            pytest.param([b'{"type"'], id="lines that are cut off"),
            pytest.param([], id="streams that end at once"),
        ],
    )
    async def test_two_failures_in_a_row_need_a_list(self, failure: Answer) -> None:
        async with reflecting([*FIRST, 2.0], failure, failure, [*FIRST, FOREVER]) as world:
            await asyncio.sleep(10)
            assert world.api.requests == ["stream ", "watch 10", "watch 10", "stream 10"]
            assert world.view.told == ["added a", "added b"]

    async def test_failures_with_news_in_between_need_none(self) -> None:
        failing: list[Answer] = [[added("c", version), error_event(500)] for version in range(11, 21)]
        async with reflecting([*FIRST, 2.0], *failing, heartbeats(20, 9)) as world:
            await asyncio.sleep(400)
            assert world.api.requests[:2] == ["stream ", "watch 10"]
            assert not any(request.startswith(("stream", "list")) for request in world.api.requests[1:])

    async def test_history_that_goes_back_needs_a_list_of_the_newest(self) -> None:
        async with reflecting([*FIRST, 2.0, bookmark(5), FOREVER], listed(5, thing("a", 3))) as world:
            await asyncio.sleep(10)
            assert world.api.requests == ["stream ", "list -", "watch 5"]
            assert world.view.objects == {"a": "3"}

    async def test_an_object_that_cannot_be_decoded_does_not_stop_the_others(self) -> None:
        stream = [*FIRST, added("a", 11, labels=3), added("c", 12), FOREVER]
        async with reflecting(stream) as world:
            await asyncio.sleep(1)
            assert world.view.told == ["added a", "added b", "deleted a", "undecodable a", "added c"]
            assert set(world.reflector.undecodable) == {"a"}
            assert world.api.requests == ["stream "]

    async def test_the_second_of_two_objects_of_one_name(self) -> None:
        stream = [*FIRST, added("a", 12, uid="other"), deleted("a", 11), FOREVER]
        async with reflecting(stream) as world:
            await asyncio.sleep(1)
            assert world.view.told == ["added a", "added b", "deleted a", "added a"]


class TestTime:
    async def test_a_watch_that_says_nothing_at_all_is_opened_anew_and_that_is_no_error(self) -> None:
        answers: list[Answer] = [
            [*FIRST, 2.0],
            [FOREVER],
            listed(10),
            [FOREVER],
            listed(500),
            [added("c", 11), FOREVER],
        ]
        async with reflecting(*answers) as world:
            await asyncio.sleep(160)
            assert world.api.requests == ["stream ", "watch 10", "list -", "watch 10", "list -", "watch 10"]
            assert world.api.queries[2] == {"limit": "1"}
            assert world.view.told == ["added a", "added b", "added c"]
            assert (world.reflector.errors, world.reflector.trouble) == (0, "")

    async def test_a_watch_that_says_nothing_after_its_list_is_one_of_them(self) -> None:
        async with reflecting([*FIRST, FOREVER], listed(10), [added("c", 11), FOREVER]) as world:
            await asyncio.sleep(80)
            assert world.api.requests == ["stream ", "list -", "watch 10"]
            assert world.reflector.errors == 0

    async def test_a_server_that_says_nothing_because_it_went_back_in_history_is_listed(self) -> None:
        answers: list[Answer] = [
            [*FIRST, 2.0],
            [FOREVER],
            listed(8),
            listed(8, thing("a", 3)),
            [added("c", 9), FOREVER],
        ]
        async with reflecting(*answers) as world:
            await asyncio.sleep(90)
            assert world.api.requests == ["stream ", "watch 10", "list -", "list -", "watch 8"]
            assert world.view.objects == {"a": "3", "c": "9"}

    async def test_a_server_that_says_nothing_and_cannot_be_asked_is_asked_again(self) -> None:
        answers: list[Answer] = [
            [*FIRST, 2.0],
            [FOREVER],
            Unreachable("refused"),
            listed(10),
            [added("c", 11), FOREVER],
        ]
        async with reflecting(*answers) as world:
            await asyncio.sleep(90)
            assert world.api.requests == ["stream ", "watch 10", "list -", "list -", "watch 10"]
            assert world.reflector.trouble == ""

    async def test_silence_means_that_the_connection_is_dead(self) -> None:
        async with reflecting([*FIRST, 40.0, bookmark(11), FOREVER]) as world:
            await asyncio.sleep(110)
            assert world.api.requests == ["stream "]
            assert world.reflector.seconds_silent() == pytest.approx(70)
            await asyncio.sleep(10)
            assert world.api.requests == ["stream ", "watch 11"]
            assert world.api.times[1] == pytest.approx(115, abs=1.1)
            assert world.api.open_streams == 1
            assert (world.reflector.errors, world.reflector.trouble) == (1, "")

    async def test_bookmarks_keep_a_connection(self) -> None:
        async with reflecting([*FIRST, *heartbeats(11, 10), FOREVER]) as world:
            await asyncio.sleep(590)
            assert world.api.requests == ["stream "]
            assert world.reflector.seconds_silent() < 60

    async def test_lost_connections_need_no_list_however_many(self) -> None:
        lost: list[Answer] = [[1.5, OutcomeUnknown("lost")] for _ in range(20)]
        async with reflecting([*FIRST, 2.0], *lost, [*heartbeats(10, 9)]) as world:
            await asyncio.sleep(100)
            assert world.api.requests == ["stream ", *["watch 10"] * 21]

    async def test_trouble_is_over_when_the_watch_is_open_again(self) -> None:
        async with reflecting([*FIRST, 2.0], Unreachable("refused")) as world:
            await asyncio.sleep(2.1)
            assert world.reflector.trouble == "Unreachable: refused"
            await asyncio.sleep(1)
            assert world.reflector.trouble == ""
            assert world.reflector.seconds_silent() < 1

    async def test_patience_can_be_set(self) -> None:
        async with reflecting([*FIRST, 2.0, bookmark(10), FOREVER], patience=5.0) as world:
            await asyncio.sleep(9)
            assert world.api.requests == ["stream ", "watch 10"]

    async def test_a_server_that_refuses_connections_is_asked_less_and_less_often(self) -> None:
        async with reflecting(*[Unreachable("refused")] * 30) as world:
            await asyncio.sleep(200)
            pauses = [later - sooner for sooner, later in zip(world.api.times, world.api.times[1:], strict=False)]
            for pause, step in zip(pauses, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, *[30] * 20], strict=False):
                assert step / 2 <= pause <= step + 0.01
            assert len(pauses) > 8

    async def test_a_plain_list_that_breaks_off_is_asked_for_less_and_less_often(self) -> None:
        answers: list[Answer] = [error(422), OutcomeUnknown("lost")] * 30
        async with reflecting([*FIRST, 9.0], error(410), *answers) as world:
            await asyncio.sleep(200)
            assert len(world.api.requests) < 40

    @pytest.mark.parametrize(
        ("busy", "pause"),
        [
            pytest.param(error(429, retry_after=17), 17, id="a refusal"),
            pytest.param([error_event(429, retryAfterSeconds=17)], 17, id="an event"),
            pytest.param(error(503, retry_after=17), 17, id="another refusal"),
            pytest.param(error(429, retry_after=1e6), 120, id="far too long"),
        ],
    )
    async def test_the_server_says_how_long_to_wait(self, busy: Answer, pause: float) -> None:
        async with reflecting([*FIRST, 2.0], busy) as world:
            await asyncio.sleep(150)
            assert world.api.requests[:3] == ["stream ", "watch 10", "watch 10"]
            assert world.api.times[2] - world.api.times[1] == pytest.approx(pause, abs=0.01)

    async def test_after_a_long_absence_a_version_that_is_too_old_costs_no_further_pause(self) -> None:
        away = [Unreachable("refused")] * 8
        async with reflecting([*FIRST, 2.0], *away, error(410), [*FIRST, *heartbeats(10, 9)]) as world:
            await asyncio.sleep(300)
            assert world.api.requests[-2:] == ["watch 10", "stream "]
            assert world.api.times[-1] - world.api.times[-2] == pytest.approx(0, abs=0.01)

    async def test_a_version_that_is_always_too_old_does_not_become_a_storm(self) -> None:
        answers: list[Answer] = [FIRST, error(410)] * 100
        async with reflecting(*answers) as world:
            await asyncio.sleep(100)
            assert len(world.api.requests) < 25

    async def test_a_burst_lets_others_run(self) -> None:
        burst = b"".join(added(f"n{number}", 11 + number) for number in range(2000))
        async with reflecting([*FIRST, 1.0, burst, FOREVER]) as world:
            await asyncio.sleep(1.0)
            turns = 0
            while len(world.view.objects) < 2002:
                await asyncio.sleep(0)
                turns += 1
            assert turns >= 2000 // 256


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "the API server does not accept our credentials: check the token or certificate"),
        (403, "our role lacks a rule: allow list and watch of namespaces"),
        (404, "the API server does not serve namespaces: it is too old, or this API is disabled"),
    ],
)
async def test_troubles_say_what_to_do_once(status: int, advice: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with reflecting(*[error(status)] * 8, listed(9), heartbeats(9, 9)) as world:
            await asyncio.sleep(1)
            assert advice in world.reflector.trouble
            assert caplog.text.count(advice) == 1
            assert not world.reflector.is_synced
            await asyncio.sleep(200)
            assert world.reflector.trouble == ""
            assert "up to date again" in caplog.text


async def test_a_surprise_is_logged_and_survived(caplog: pytest.LogCaptureFixture) -> None:
    async with reflecting([*FIRST, 2.0], ZeroDivisionError("a bug")) as world:
        await asyncio.sleep(10)
        assert world.api.requests == ["stream ", "watch 10", "watch 10"]
    assert "Traceback" in caplog.text


async def test_a_reflector_can_be_told_to_begin_anew() -> None:
    world = World(Api([*FIRST, 1.0, added("c", 11), FOREVER], [added("a", 3), added("c", 11), list_end(20), FOREVER]))
    reflector = world.reflector
    first = asyncio.create_task(reflector.run())
    await asyncio.sleep(2)
    first.cancel()
    await asyncio.wait([first])
    reflector.expire()
    assert not reflector.is_synced
    second = asyncio.create_task(reflector.run())
    await reflector.wait_until_synced()
    assert world.api.requests == ["stream ", "stream "]
    assert world.view.told == ["added a", "added b", "added c", "deleted b"]
    second.cancel()
    await asyncio.wait([second])


async def test_a_list_that_was_half_delivered_is_made_whole_by_the_next() -> None:
    many = [added(f"n{number}", 3) for number in range(2000)]
    world = World(Api([b"".join([*many, list_end(10)]), FOREVER], [*many[1000:], list_end(11), FOREVER]))
    first = asyncio.create_task(world.reflector.run())
    while not world.view.objects:  # noqa: ASYNC110 - every turn is looked at
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert 0 < len(world.view.objects) < 2000
    assert not world.reflector.is_synced
    world.reflector.expire()
    second = asyncio.create_task(world.reflector.run())
    await world.reflector.wait_until_synced()
    assert set(world.view.objects) == {f"n{number}" for number in range(1000, 2000)}
    second.cancel()
    await asyncio.wait([second])


class TestOptional:
    """A resource that need not be served."""

    @pytest.mark.parametrize("status", [403, 404])
    async def test_nobody_waits_for_what_is_not_served(self, status: int) -> None:
        refusals = [error(status)] * (2 if status == 403 else 1)  # who may not stream asks for a list, too
        async with reflecting(*refusals, [*FIRST, FOREVER], optional=True) as world:
            await asyncio.sleep(0.1)
            assert world.reflector.is_synced
            assert world.view.told == []
            await asyncio.sleep(60)
            assert world.view.told == ["added a", "added b"]  # it came later

    async def test_others_are_waited_for(self) -> None:
        async with reflecting(error(404), [*FIRST, FOREVER]) as world:
            await asyncio.sleep(0.1)
            assert not world.reflector.is_synced

    async def test_a_server_that_does_not_serve_it_for_a_moment_changes_nothing(self) -> None:
        gone: list[Answer] = [[*FIRST, error_event(410)], error(404), error(404)]
        async with reflecting(*gone, [added("a", 3), added("b", 4), list_end(12), FOREVER], optional=True) as world:
            await asyncio.sleep(30)
            assert world.view.told == ["added a", "added b"]

    async def test_objects_are_gone_with_their_resource(self) -> None:
        gone: list[Answer] = [[*FIRST, error_event(410)], *(error(404) for _ in range(30))]
        async with reflecting(*gone, listed(21, thing("a", 20)), optional=True) as world:
            await asyncio.sleep(300)
            assert sorted(world.view.told) == ["added a", "added b", "deleted a", "deleted b"]
            await asyncio.sleep(1000)
            assert world.view.told[4:] == ["added a"]
