"""The sentence about nodes that are not available."""

import pytest

from pilotage.framework.fit_error import fit_error


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
