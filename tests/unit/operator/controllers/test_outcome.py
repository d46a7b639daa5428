"""The patch that makes an object what it should be, and nothing else."""

from typing import Any

import pytest

from pilotage_operator.controllers.outcome import merge_patch


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        pytest.param({}, {"phase": "Pending"}, {"phase": "Pending"}, id="a new field"),
        pytest.param({"phase": "Pending"}, {"phase": "Pending"}, {}, id="nothing new"),
        pytest.param({"theirs": 1}, {"phase": "x"}, {"phase": "x"}, id="a field of somebody else stays"),
        pytest.param({"pod": "a"}, {"pod": None}, {"pod": None}, id="a field that goes"),
        pytest.param({}, {"pod": None}, {}, id="a field that is not there need not go"),
        pytest.param(
            {"used": {"cpu": "1", "gpu": "0"}},
            {"used": {"cpu": "2"}},
            {"used": {"cpu": "2", "gpu": None}},
            id="inside a field of ours what is no longer there goes",
        ),
        pytest.param({"used": {"cpu": "1"}}, {"used": {}}, {"used": {"cpu": None}}, id="a map is emptied"),
        pytest.param({"list": [1, 2]}, {"list": [2]}, {"list": [2]}, id="a list is replaced"),
        pytest.param({"x": [1]}, {"x": {"a": 1}}, {"x": {"a": 1}}, id="another type is replaced"),
    ],
)
def test_merge_patch(old: dict[str, Any], new: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge_patch(old, new) == patch
