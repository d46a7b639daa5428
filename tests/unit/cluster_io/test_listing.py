"""Lists, whole and in pages."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from pilotage.cluster.api_errors import ApiError, OutcomeUnknown
from pilotage.cluster.listing import Lister
from pilotage.cluster.resources import PODS
from pilotage.cluster.watch_events import EventReader
from pilotage.cluster.watch_lines import BrokenStream

SELECTION = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
EXPIRED = ApiError(410, reason="Expired", message="too old", retry_after=None, body=b"")
TOO_LARGE = ApiError(504, reason="Timeout", message="Too large resource version: 9", retry_after=None, body=b"")
BROKEN = ApiError(500, reason="InternalError", message="oh", retry_after=None, body=b"")
PAGES = {"limit": "500"}


class Api:
    """Answers as it was told to, and keeps the questions."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers = list(answers)
        self.queries: list[dict[str, str]] = []

    async def get(self, path: str, query: Mapping[str, str] = {}, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        assert path == "/api/v1/pods"
        self.queries.append({key: value for key, value in query.items() if key not in SELECTION})
        assert query.items() >= SELECTION.items()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


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
