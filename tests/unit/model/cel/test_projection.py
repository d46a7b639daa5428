"""What a selector says that it reads, and the key by which its answers are remembered."""

import pytest

from kit.cel_scene import device, spelled_out
from pilotage.model.cel import AttributeValue, compile_selector
from pilotage.model.semver import parse

G = "gpu.example.com"


@pytest.mark.parametrize(
    ("expression", "mentions"),
    [
        pytest.param("true", set(), id="nothing"),
        pytest.param("device.driver == 'a'", set(), id="the driver is no mention"),
        pytest.param("D.model == 'a'", {("attributes", G, "model")}, id="a field"),
        pytest.param("D['model'] == 'a'", {("attributes", G, "model")}, id="an index"),
        pytest.param("C.memory.isInteger()", {("capacity", G, "memory")}, id="a capacity"),
        pytest.param("has(device.attributes.zz.x)", {("attributes", "zz", "x")}, id="a presence"),
        pytest.param("D.?model.orValue('a') == 'a'", {("attributes", G, "model")}, id="an optional field"),
        pytest.param("device.attributes[?'zz'].?x.hasValue()", {("attributes", "zz", "x")}, id="an optional domain"),
        pytest.param("device.attributes[device.driver].a", {("attributes", "", "a")}, id="the driver's own domain"),
        pytest.param("'model' in D", {("attributes", G, "model")}, id="an id in a domain"),
        pytest.param(
            "cel.bind(d, D, d.a == d.b)", {("attributes", G, "a"), ("attributes", G, "b")}, id="a name for it"
        ),
        pytest.param("cel.bind(d, D.a, d.b)", {("attributes", G, "a")}, id="a field of an attribute"),
        pytest.param("cel.bind(device, {'driver': D.a}, device.driver)", {("attributes", G, "a")}, id="another device"),
        pytest.param("D.list.exists(x, x == 'a')", {("attributes", G, "list")}, id="a loop over an attribute"),
        pytest.param("D.exists(k, true)", None, id="a loop over a domain"),
        pytest.param("D == {}", None, id="a whole domain"),
        pytest.param("size(device.attributes) > 1", None, id="all domains"),
        pytest.param("'zz' in device.attributes", None, id="which domains there are"),
        pytest.param("D[D.model] == 1", None, id="an id that is computed"),
        pytest.param("device.attributes[D.model].x == 1", None, id="a domain that is computed"),
        pytest.param("[1].map(x, D)[0].model == 'a'", None, id="a domain as a value"),
        pytest.param("device == device", None, id="the device"),
        pytest.param(
            "cel.bind(d, device, d.attributes.zz.x == 1)", {("attributes", "zz", "x")}, id="a name for the device"
        ),
        pytest.param("D.?sub.?x.hasValue()", {("attributes", G, "sub")}, id="below an attribute"),
        pytest.param("cel.bind(d, true ? D : D, d.model == 'a')", None, id="a name for one of two domains"),
        pytest.param(
            "device.attributes[?G].optMap(d, d.model)".replace("G", f"'{G}'") + ".orValue(true)", None, id="optMap"
        ),
    ],
)
def test_mentions(expression: str, mentions: set[tuple[str, str, str]] | None) -> None:
    assert compile_selector(spelled_out(expression)).mentions == mentions


TRUE, ONE = {"a": True}, {"a": 1}


@pytest.mark.parametrize(
    ("expression", "one", "other", "is_same"),
    [
        pytest.param("D.a == 1", {"a": 1, "b": 1}, {"a": 1, "b": 2}, True, id="another attribute"),
        pytest.param("D.a == 1", {"a": 1}, {"a": 2}, False, id="another value"),
        pytest.param("D.a == 1", {"a": 1}, {}, False, id="no value"),
        pytest.param("D.a == 1", ONE, TRUE, False, id="true is not 1"),
        pytest.param("D.a == 'a'", {"a": "1.2.3"}, {"a": parse("1.2.3")}, False, id="a version is not its text"),
        pytest.param("D.a == 'a'", {"a": 1}, {f"{G}/a": 1}, True, id="the domain written out"),
        pytest.param("D.exists(k, true)", {"a": 1}, {"b": 1}, False, id="everything matters"),
        pytest.param("D.exists(k, true)", {"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="the order does not"),
        pytest.param("D.a.exists(x, true)", {"a": (1, 2)}, {"a": (1, 3)}, False, id="elements of lists"),
    ],
)
def test_equal_keys_are_equal_answers(
    expression: str, one: dict[str, AttributeValue], other: dict[str, AttributeValue], is_same: bool
) -> None:
    selector = compile_selector(spelled_out(expression))
    assert (selector.projection(device(one)) == selector.projection(device(other))) is is_same


def test_the_driver_matters_only_if_it_is_read() -> None:
    here, there = device({}, {}, driver="a"), device({}, {}, driver="b")
    unread, read = compile_selector("true"), compile_selector("device.driver == 'a'")
    assert unread.projection(here) == unread.projection(there)
    assert read.projection(here) != read.projection(there)


def test_sharing_matters_only_if_it_is_read() -> None:
    alone, shared = device(allow_multiple=False), device(allow_multiple=True)
    unread, read = compile_selector("true"), compile_selector("device.allowMultipleAllocations")
    assert unread.projection(alone) == unread.projection(shared)
    assert read.projection(alone) != read.projection(shared)


def test_the_spelling_of_a_quantity_matters() -> None:
    selector = compile_selector(spelled_out("C.a.isInteger()"))
    one, other = device(capacity={"a": "1"}), device(capacity={"a": "1000m"})
    assert selector.matches(one) is True
    assert selector.matches(other) is False
    assert selector.projection(one) != selector.projection(other)
