"""Lists, whole and in pages."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest

from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown
from pilotage.cluster.watch.listing import Lister
from pilotage.cluster.watch.resources import PODS
from pilotage.cluster.watch.watch_events import EventReader
from pilotage.cluster.watch.watch_lines import BrokenStream

SELECTION = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
EXPIRED = ApiError(410, reason="Expired", message="too old", retry_after=None, body=b"")
TOO_LARGE = ApiError(504, reason="Timeout", message="Too large resource version: 9", retry_after=None, body=b"")
BROKEN = ApiError(500, reason="InternalError", message="oh", retry_after=None, body=b"")
PAGES = {"limit": "500"}
CUT = b"<here the connection is lost>"


class Api:
    """Answers as it was told to, and keeps the questions."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers = list(answers)
        self.queries: list[dict[str, str]] = []

    async def get(self, path: str, query: Mapping[str, str] = {}, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return self._next(path, query)

    def stream(
        self, path: str, query: Mapping[str, str], *, timeout: float | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._opened(path, query)

    @asynccontextmanager
    async def _opened(self, path: str, query: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        yield _chunks(self._next(path, query))

    def _next(self, path: str, query: Mapping[str, str]) -> bytes:
        assert path == "/api/v1/pods"
        self.queries.append({key: value for key, value in query.items() if key not in SELECTION})
        assert query.items() >= SELECTION.items()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    """Yield an answer as it comes; where it has a cut, it breaks off."""
    whole, cut, _ = body.partition(CUT)
    for start in range(0, len(whole), 1 << 16):
        yield whole[start : start + (1 << 16)]
        await asyncio.sleep(0)
    if cut:
        raise OutcomeUnknown("the connection was closed in the middle of the response")


def answer(*names: str, version: str = "9", next_page: str = "", **more: Any) -> bytes:
    items = [{"metadata": {"name": name, "namespace": "x", "resourceVersion": "3"}} for name in names]
    return msgspec.json.encode({"metadata": {"resourceVersion": version, "continue": next_page}, "items": items} | more)


@pytest.mark.parametrize(
    ("version", "answers", "queries"),
    [
        pytest.param("0", [answer("a", "b")], [{"resourceVersion": "0"}], id="whole from the server's memory"),
        pytest.param("7", [answer("a", "b")], [{"resourceVersion": "7"}], id="whole, and not older than a version"),
        pytest.param(
            "",
            [answer("a", next_page="t"), answer("b")],
            [PAGES, {**PAGES, "continue": "t"}],
            id="in pages when it must be the newest",
        ),
        pytest.param(
            "0",
            [answer("a", next_page="t"), answer("b")],
            [{"resourceVersion": "0"}, {**PAGES, "continue": "t"}],
            id="in pages when the server wants it so",
        ),
        pytest.param("7", [EXPIRED, answer("a", "b")], [{"resourceVersion": "7"}, PAGES], id="the version is too old"),
        pytest.param("7", [TOO_LARGE, answer("a", "b")], [{"resourceVersion": "7"}, PAGES], id="or from the future"),
        pytest.param(
            "",
            [answer("a", next_page="t"), EXPIRED, answer("a", "b")],
            [PAGES, {**PAGES, "continue": "t"}, {}],
            id="whole when the rest of the pages has expired",
        ),
    ],
)
async def test_queries(version: str, answers: list[bytes | Exception], queries: list[dict[str, str]]) -> None:
    api = Api(*answers)
    found, at = await Lister(api, PODS, EventReader(PODS)).list(version)
    assert (set(found.objects), at) == ({"x/a", "x/b"}, "9")
    assert api.queries == queries


async def test_the_newest_version_costs_one_item() -> None:
    api = Api(answer("a", version="12", next_page="t"))
    assert await Lister(api, PODS, EventReader(PODS)).newest_version() == "12"
    assert api.queries == [{"limit": "1"}]


async def test_a_list_that_is_too_large_for_one_answer_comes_in_pages() -> None:
    api = Api(OutcomeUnknown("larger than 64 MiB"), answer("a"))
    lister = Lister(api, PODS, EventReader(PODS))
    with pytest.raises(OutcomeUnknown):
        await lister.list("0")
    await lister.list("0")
    assert api.queries == [{"resourceVersion": "0"}, PAGES]


def limits(api: Api) -> list[int]:
    return [int(query.get("limit", 0)) for query in api.queries]


class TestPagesThatAreTooLarge:
    async def test_a_page_that_breaks_off_is_asked_for_by_halves_and_grows_again(self) -> None:
        first = answer("a", next_page="t")
        api = Api(first[:20] + CUT, first, answer("b", next_page="u") + CUT, answer("b", next_page="u"), answer("c"))
        found, _ = await Lister(api, PODS, EventReader(PODS)).list("")
        assert set(found.objects) == {"x/a", "x/b", "x/c"}
        assert limits(api) == [500, 250, 500, 250, 500]
        assert [query.get("continue") for query in api.queries] == [None, None, "t", "t", "u"]

    @pytest.mark.parametrize(
        "failure",
        [
            pytest.param(answer("a") + CUT, id="the connection is lost"),
            pytest.param(
                ApiError(504, reason="Timeout", message="slow", retry_after=None, body=b""), id="it takes long"
            ),
        ],
    )
    async def test_down_to_one_item(self, failure: bytes | Exception) -> None:
        api = Api(*[failure] * 9)
        with pytest.raises((OutcomeUnknown, ApiError)):
            await Lister(api, PODS, EventReader(PODS)).list("")
        assert limits(api) == [500, 250, 125, 62, 31, 15, 7, 3, 1]

    async def test_other_errors_are_no_reason_for_smaller_pages(self) -> None:
        api = Api(BROKEN)
        with pytest.raises(ApiError):
            await Lister(api, PODS, EventReader(PODS)).list("")
        assert limits(api) == [500]


class TestLargeItems:
    async def test_there_is_no_end_to_how_much_comes_and_others_get_their_turn(self) -> None:
        text = json.dumps({"metadata": {"name": "NAME", "annotations": {"a": "<" * 1_450_000}}})
        items = [text.replace("<", "\\u003c").replace("NAME", f"p{i}", 1).encode() for i in range(9)]
        api = Api(b'{"metadata":{"resourceVersion":"9"},"items":[%s]}' % b",".join(items))
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        counting = asyncio.create_task(count())
        found, _ = await Lister(api, PODS, EventReader(PODS)).list("0")
        counting.cancel()
        assert len(found.objects) == 9
        assert found.objects["p8"].metadata.annotations == {"a": "<" * 1_450_000}
        assert turns > len(api.queries) + 9 * 2  # after each piece, and between the steps of each item

    async def test_one_that_is_too_long_is_known_by_its_name_and_counted(self) -> None:
        begun = b'{"metadata":{"name":"long","namespace":"x","uid":"1","resourceVersion":"4","annotations":{"a":"'
        nameless = b'{"metadata":{"annotations":{"a":"'
        items = [
            begun + b"a" * (17 << 20) + b'"}}}',
            nameless + b"a" * (17 << 20) + b'"}}}',
            b'{"metadata":{"name":"b"}}',
        ]
        lister = Lister(Api(b'{"metadata":{},"items":[%s]}' % b",".join(items)), PODS, EventReader(PODS))
        found, _ = await lister.list("0")
        assert set(found.objects) == {"b"}
        assert found.undecodable["x/long"].reason == "it has more than 16 MiB of JSON"
        assert lister.skipped == 2


@pytest.mark.parametrize(
    ("first", "error"),
    [
        pytest.param(BROKEN, ApiError, id="an error of the server"),
        pytest.param(b"<html>", BrokenStream, id="no JSON"),
        pytest.param(b'{"items":[]}', BrokenStream, id="no list"),
    ],
)
async def test_troubles_are_left_to_whoever_asked(first: bytes | Exception, error: type[Exception]) -> None:
    with pytest.raises(error):
        await Lister(Api(first), PODS, EventReader(PODS)).list("0")


async def test_items_may_be_null() -> None:
    found, _ = await Lister(Api(answer(items=None)), PODS, EventReader(PODS)).list("0")
    assert not found.objects


async def test_one_bad_item_is_one_bad_item(caplog: pytest.LogCaptureFixture) -> None:
    items = [
        {"metadata": {"name": "a", "namespace": "x"}, "spec": {"priority": "high"}},
        {"metadata": {}},
        {"metadata": {"name": "b", "namespace": "x"}},
    ]
    found, _ = await Lister(Api(answer(items=items)), PODS, EventReader(PODS)).list("0")
    assert (set(found.objects), set(found.undecodable)) == ({"x/b"}, {"x/a"})
    assert "skipped an object without a name" in caplog.text
