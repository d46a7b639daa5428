"""Answers are encoded in pieces, with the same result as by msgspec."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from pilotage.views.answers import (
    Access,
    Latency,
    NodeRow,
    NodeTable,
    NodeView,
    OtherPods,
    Profile,
    ProfileView,
    Queue,
    QueueGroup,
)
from pilotage.views.encoding import A_PIECE, encoded
from pilotage.views.state import finish

AT, LATER = (datetime(2026, 11, 18, hour, tzinfo=UTC) for hour in (12, 13))
COMMON: dict[str, Any] = {"at": AT, "revision": 7, "source": "live"}
MANY = list(range(2 * A_PIECE + 3))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Queue(**COMMON), id="only defaults"),
        pytest.param(
            Queue(**COMMON, total=1, groups=[QueueGroup(key="é\n", pods=1, oldest=AT, example="a/b")]), id="a list"
        ),
        pytest.param(NodeTable(**COMMON, names=[f"n{each}" for each in MANY], pods=MANY), id="long lists"),
        pytest.param(
            NodeTable(**COMMON, pods=MANY[:A_PIECE], flags=MANY[: A_PIECE + 1]), id="lists as long as a piece"
        ),
        pytest.param(NodeTable(**COMMON, allocatable={"cpu": MANY, "b": []}, units={"cpu": "m"}), id="lists in a dict"),
        pytest.param(NodeTable(**COMMON, items=[NodeRow(name="n")] * 1500, continue_="x"), id="many structs"),
        pytest.param(Access(**COMMON, user="u", namespaces="all"), id="a union"),
        pytest.param(Access(**COMMON, user="u", namespaces=["a"], more_namespaces=True), id="the other of a union"),
        pytest.param(NodeView(**COMMON, name="n", others=OtherPods()), id="a struct that equals the default"),
        pytest.param(Latency(p50=float("0"), p99=0.5), id="a number that equals the default"),
        pytest.param(Profile(**COMMON, profile=ProfileView(name="p", ready=False)), id="a struct"),
    ],
)
def test_the_result_is_that_of_msgspec(answer: msgspec.Struct) -> None:
    assert finish(encoded(answer))[0] == msgspec.json.encode(answer)


def test_the_time_does_not_change_the_tag() -> None:
    tags = [finish(encoded(Queue(**{**COMMON, **change})))[1] for change in ({}, {"at": LATER}, {"total": 1})]
    assert tags[0] == tags[1] != tags[2]


def test_a_struct_without_any_field_is_empty() -> None:
    class Nothing(msgspec.Struct, omit_defaults=True):
        number: int = 0

    assert finish(encoded(Nothing()))[0] == b"{}"


def test_long_lists_take_several_steps() -> None:
    assert sum(1 for _ in encoded(NodeTable(**COMMON, pods=MANY))) > 3
