"""The words around errors, and devices that cannot be read."""

import pytest

from kit.cel_scene import answer, device
from pilotage.model.cel import BadAttribute, CompileError, compile_selector, hinted


def test_a_compile_error_shows_the_place() -> None:
    with pytest.raises(CompileError) as refused:
        compile_selector('device.driver ==\n "é" + foo')
    assert str(refused.value) == (
        "compilation failed: ERROR: <input>:2:8: undeclared reference to 'foo' (in container '')\n"
        ' |  "é" + foo\n'
        " | ..\uff0e....^"
    )


def test_problems_are_in_the_order_of_the_source() -> None:
    with pytest.raises(CompileError) as refused:
        compile_selector("foo == 1 || bar == 2")
    assert str(refused.value).split("\n") == [
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')",
        " | foo == 1 || bar == 2",
        " | ^",
        "ERROR: <input>:1:13: undeclared reference to 'bar' (in container '')",
        " | foo == 1 || bar == 2",
        " | ............^",
    ]


def test_a_missing_key_comes_with_advice() -> None:
    assert hinted("no such key: a") == (
        "no such key: a. consider using CEL optional chaining (.? followed by orValue())"
        " or guarding the check with has() for optional fields"
    )


def test_other_errors_come_without() -> None:
    assert hinted("no such overload") == "no such overload"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(
            'url("http://a").getHost() == "a"', "url() is not supported by this scheduler", id="addresses of pages"
        ),
        pytest.param(
            "google.protobuf.Duration{} == null", "messages are not supported by this scheduler", id="messages"
        ),
        pytest.param(
            r'"a".matches("\\p{Greek}")',
            r"\p{Greek} in a regular expression is not supported by this scheduler",
            id="alphabets in patterns",
        ),
        pytest.param(
            'timestamp(0).getHours("Europe/Berlin") == 1',
            "the time zone Europe/Berlin is not supported by this scheduler",
            id="zones of time that are in files",
        ),
        pytest.param(
            "{null: 1}.size() == 1", "a null_type as key of a map is not supported by this scheduler", id="odd keys"
        ),
    ],
)
def test_what_is_left_out_is_refused(expression: str, expected: str) -> None:
    assert expected in str(answer(expression))


def test_an_attribute_without_a_value_fails_every_expression() -> None:
    unreadable = device({"q": BadAttribute("unsupported attribute value")})
    assert answer("true", unreadable) == "attribute q: unsupported attribute value"


def test_a_wrong_version_fails_every_expression() -> None:
    unreadable = device({"a": 1, "q": BadAttribute("parse semantic version: Version string empty")})
    assert answer("true", unreadable) == "attribute q: parse semantic version: Version string empty"


def test_lists_can_be_searched() -> None:
    several = device({"a": ("x", "y")})
    assert answer('D.a.exists(x, x == "y") && D.a.includes("x") && D.a[1] == "y" && "x" in D.a', several) is True


def test_an_expression_may_not_be_longer_than_the_api_allows() -> None:
    with pytest.raises(CompileError, match="size: 10241, limit: 10240"):
        compile_selector("true".ljust(10_241))
