"""Tokens, and pages of something long."""

import random
from typing import Any

import pytest

from pilotage.views.paging import InvalidQuestion, after, continued, page
from pilotage.views.state import STEP, finish


@pytest.mark.parametrize("key", [("a",), (1.5, "shop/web"), (0, -3, 'x"y'), (7,)])
def test_a_token_contains_its_key(key: tuple[object, ...]) -> None:
    shape: Any = tuple[tuple(type(part) for part in key)]  # type: ignore[misc]
    assert after(continued(*key), shape) == key


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("!", id="not base64"),
        pytest.param("AAAA", id="not JSON"),
        pytest.param(continued("a", 1), id="of another path"),
        pytest.param("W" * 4000, id="too long"),
        pytest.param("ü", id="not ASCII"),
    ],
)
def test_an_invalid_token_is_rejected(token: str) -> None:
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


def test_paging_takes_many_steps() -> None:
    assert sum(1 for _ in page(range(1000), lambda item: (item,), 10, None)) == 1000 / STEP
