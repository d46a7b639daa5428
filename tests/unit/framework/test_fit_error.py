"""The sentence about nodes that are not available."""

import pytest

from pilotage.framework.runtime.fit_error import fit_error


@pytest.mark.parametrize(
    ("nodes", "reasons", "text"),
    [
        pytest.param(
            3,
            {"Insufficient cpu": 2, "Insufficient memory": 1},
            "0/3 nodes are available: 1 Insufficient memory, 2 Insufficient cpu.",
            id="counts come first",
        ),
        pytest.param(12, {"y": 2, "x": 10}, "0/12 nodes are available: 10 x, 2 y.", id="entries are sorted as texts"),
        pytest.param(2, {"x": 2, "y": 0}, "0/2 nodes are available: 2 x.", id="what holds nowhere is not told"),
        pytest.param(4, {}, "0/4 nodes are available:", id="no reason leaves no dot"),
    ],
)
def test_sentence(nodes: int, reasons: dict[str, int], text: str) -> None:
    assert fit_error(nodes, reasons) == text


def test_a_message_does_not_grow_with_the_number_of_nodes() -> None:
    one_each = {f"node n{number} is too hot": 1 for number in range(5000)}
    text = fit_error(5002, {**one_each, "Insufficient cpu": 2})
    assert text.startswith("0/5002 nodes are available: 1 node n0 is too hot, ")
    assert ", 2 Insufficient cpu, and 4981 for 4981 other reasons." in text
    assert len(text) < 1024
