"""Tokens, and pages of something long."""

import random
from typing import Any

import pytest

from pilotage.views.paging import InvalidQuestion, after, continued, page
from pilotage.views.state import STEP, finish


@pytest.mark.parametrize("key", [("a",), (1.5, "shop/web"), (0, -3, 'x"y'), (7,)])
def test_a_token_stands_for_its_key(key: tuple[object, ...]) -> None:
    shape: Any = tuple[tuple(type(part) for part in key)]  # type: ignore[misc]
    assert after(continued(*key), shape) == key


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("!", id="no base64"),
        pytest.param("AAAA", id="no JSON"),
        pytest.param(continued("a", 1), id="of something else"),
        pytest.param("W" * 4000, id="too long"),
        pytest.param("ü", id="no ASCII"),
    ],
)
def test_a_token_that_is_none_is_refused(token: str) -> None:
    with pytest.raises(InvalidQuestion, match="continue: not a token of this path"):
        after(token, tuple[int])


def test_pages_are_in_order_and_complete() -> None:
    items = list(range(1234))
    random.Random(1).shuffle(items)
    seen, behind = [], None
    while True:
        found, total, more = finish(page(items, lambda item: (item,), 100, behind))
        assert total == 1234
        seen += found
        if not more:
            break
        behind = (found[-1],)
    assert seen == sorted(items)


def test_others_have_a_turn_now_and_then() -> None:
    assert sum(1 for _ in page(range(1000), lambda item: (item,), 10, None)) == 1000 / STEP
