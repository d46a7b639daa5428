"""Sections of any kind: what is unknown or of a wrong type, in order, where it stands, and with the fix."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, model_validator

from pilotage.config.durations import Duration
from pilotage.config.faults import Stage
from pilotage.config.strict_reading import read_section
from pilotage.config.types import Item, Section


class Inner(Section):
    """One of a list."""

    size: int = 0


class One(BaseModel, extra="forbid"):
    """A way to say it."""

    a: int = 0


class Other(BaseModel, extra="forbid"):
    """Another way to say it."""

    b: int = 0


class Some(Section):
    """Fields as authors of plugins write them."""

    count: int = Field(default=1, ge=1)
    share: float = 0.5
    on: bool = False
    mode: Literal["fast", "slow"] = "fast"
    word: str = Field(default="", pattern="^[a-z]{0,3}$")
    wait: Duration = Duration(0)
    names: list[str] = Field(default_factory=list)
    items: tuple[Item, ...] = ()
    weights: dict[str, int] = Field(default_factory=dict)
    inner: list[Inner] = Field(default_factory=list)
    either: One | Other = One()

    @model_validator(mode="after")
    def _slow_is_one(self) -> "Some":
        if self.mode == "slow" and self.count > 1:
            raise ValueError("only one can be slow")
        return self


def texts(given: dict[str, Any]) -> list[str]:
    return [fault.text for fault in read_section(Some, given)[1]]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"count": "x"}, 'count: must be a whole number, not the string "x"', id="no whole number"),
        pytest.param({"count": 1.5}, "count: must be a whole number, not the number 1.5", id="a fraction"),
        pytest.param({"count": 0}, "count: must be greater than or equal to 1, not the number 0", id="out of bounds"),
        pytest.param({"share": []}, "share: must be a number, not a list []", id="no number"),
        pytest.param({"on": "maybe"}, 'on: must be true or false, not the string "maybe"', id="no boolean"),
        pytest.param({"mode": "x"}, "mode: must be 'fast' or 'slow', not the string \"x\"", id="none of the words"),
        pytest.param(
            {"word": "x1"},
            "word: String should match pattern '^[a-z]{0,3}$', not the string \"x1\"",
            id="a word that is none",
        ),
        pytest.param({"names": "x"}, 'names: must be a list, not the string "x"', id="no list"),
        pytest.param({"names": [{}]}, "names[0]: must be a string, not a map {}", id="no string in a list"),
        pytest.param({"weights": []}, "weights: must be a map, not a list []", id="no map"),
        pytest.param({"inner": [5]}, "inner[0]: must be a map, not the number 5", id="no map in a list"),
        pytest.param({"names": {"a": "x" * 99}}, "names: must be a list, not a map", id="much is not shown"),
        pytest.param(
            {"mode": "slow", "count": 2},
            "only one can be slow",
            id="a rule about the whole",
        ),
    ],
)
def test_wrong_types_are_told_in_plain_words(given: dict[str, Any], expected: str) -> None:
    assert texts(given) == [expected]


def test_null_in_a_list_of_items_is_an_empty_string() -> None:
    some, faults = read_section(Some, {"items": ["a", None]})
    assert not faults
    assert some is not None
    assert some.items == ("a", "")


def test_faults_come_in_the_order_of_reading() -> None:
    inner = [{"z": 1, "a": 1}, *[{}] * 9, {"size": "x"}]
    assert texts({"z": 1, "inner": inner, "count": "x", "a": 1}) == [
        'unknown field "z"',
        'unknown field "inner[0].z"',
        'unknown field "inner[0].a"',
        'inner[10].size: must be a whole number, not the string "x"',
        'count: must be a whole number, not the string "x"',
        'unknown field "a"',
    ]


def test_what_is_known_is_read_without_the_unknown() -> None:
    some, faults = read_section(Some, {"z": 1, "inner": [{"size": 3, "a": 1}]}, ("args",))
    assert some == Some(inner=[Inner(size=3)])
    assert [(fault.stage, fault.at) for fault in faults] == [
        (Stage.STRICTNESS, ("args", "z")),
        (Stage.STRICTNESS, ("args", "inner", 0, "a")),
    ]


def test_a_rule_about_the_whole_is_checked_in_spite_of_unknown_fields() -> None:
    some, faults = read_section(Some, {"z": 1, "mode": "slow", "count": 2})
    assert some is None
    assert [fault.stage for fault in faults] == [Stage.STRICTNESS, Stage.DECODING]


def test_an_unknown_field_of_one_of_several_ways_to_say_it_is_told() -> None:
    some, faults = read_section(Some, {"either": {"a": 1, "b": 1}})
    assert some is None
    assert [fault.text for fault in faults] == ['unknown field "either.One.b"', 'unknown field "either.Other.a"']


@pytest.mark.parametrize(
    ("given", "word", "expected"),
    [
        pytest.param({"wait": 15}, "15", "add a unit: 15s", id="a unit"),
        pytest.param({"wait": "soon"}, "soon", "", id="a duration that is none"),
        pytest.param(
            {"names": [False]}, "no", 'YAML takes a bare no for the boolean false; quote it: "no"', id="quotes"
        ),
        pytest.param({"names": [False]}, None, "", id="nothing was written"),
        pytest.param({"names": [[]]}, None, "", id="a list is no word"),
    ],
)
def test_the_fix_depends_on_the_word_that_was_written(given: dict[str, Any], word: str | None, expected: str) -> None:
    (fault,) = read_section(Some, given)[1]
    assert fault.fix is not None
    assert fault.fix(word) == expected


def test_the_nearest_field_is_offered_at_any_depth() -> None:
    faults = read_section(Some, {"inner": [{"sise": 1}], "Count": 1, "zzz": 1})[1]
    assert [fault.hint for fault in faults] == ['did you mean "size"?', 'did you mean "count"?', ""]
