import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.counted_work import CountedText
from pilotage.model.tolerations import (
    Taint,
    Tolerated,
    Toleration,
    count_untolerated_preferences,
    first_untolerated,
    tolerated,
    tolerations_key,
)

DEDICATED = Taint("dedicated", "user1", "NoSchedule")
UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(Toleration(), False, id="no key, no operator and no value is Equal to the empty value"),
        pytest.param(Toleration(operator="Exists"), True, id="Exists without a key tolerates everything"),
        pytest.param(Toleration(operator="Exists", effect="NoExecute"), False, id="but only its effect"),
        pytest.param(Toleration("dedicated", "", "user1", "NoSchedule"), True, id="no operator is Equal"),
        pytest.param(Toleration("dedicated", "Equal", "user1"), True, id="no effect is every effect"),
        pytest.param(Toleration("dedicated", "Equal", "user2"), False, id="another value"),
        pytest.param(Toleration("other", "Equal", "user1"), False, id="another key"),
        pytest.param(Toleration("", "Equal", "user1"), True, id="Equal without a key is that value of any key"),
        pytest.param(Toleration("dedicated", "Exists", "ignored"), True, id="Exists does not look at its value"),
        pytest.param(Toleration("dedicated", "Exists", effect="PreferNoSchedule"), False, id="a softer effect"),
        pytest.param(Toleration("dedicated", "exists"), False, id="an operator nobody knows tolerates nothing"),
    ],
)
def test_tolerates(toleration: Toleration, expected: bool) -> None:
    assert toleration.tolerates(DEDICATED) is expected


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param([], False, id="T04 i: none"),
        pytest.param([Toleration(operator="Exists")], True, id="T04 ii: all"),
        pytest.param([Toleration(UNSCHEDULABLE.key, "Equal", "", "NoSchedule")], True, id="T04 iii: the taint itself"),
        pytest.param([Toleration(UNSCHEDULABLE.key, "Equal", "true")], False, id="T04 iv: a value it does not have"),
        pytest.param([Toleration(UNSCHEDULABLE.key, "Exists", "", "NoExecute")], False, id="T04 v: another effect"),
        pytest.param([Toleration("", "Equal", "")], True, id="T04 vi: the empty value of any key"),
    ],
)
def test_an_unschedulable_node_is_a_taint(tolerations: list[Toleration], expected: bool) -> None:
    assert tolerated(UNSCHEDULABLE, tolerations) is expected


@pytest.mark.parametrize(
    ("toleration", "taints", "expected"),
    [
        pytest.param(Toleration("dedicated", "", "user1", "NoSchedule"), [DEDICATED], None, id="T05 i: tolerated"),
        pytest.param(Toleration("dedicated", "Equal", "user2"), [DEDICATED], DEDICATED, id="T05 ii: another value"),
        pytest.param(
            Toleration("dedicated", "Exists", effect="PreferNoSchedule"), [DEDICATED], DEDICATED, id="T05 iii: softer"
        ),
        pytest.param(
            Toleration("x"), [Taint("a", "b", "PreferNoSchedule")], None, id="T05 iv: a preference forbids not"
        ),
        pytest.param(Toleration("x"), [Taint("a", "b", "Unknown")], None, id="an unknown effect forbids nothing"),
        pytest.param(
            Toleration("a", "Exists"),
            [Taint("a", effect="NoSchedule"), Taint("b", effect="NoExecute"), DEDICATED],
            Taint("b", effect="NoExecute"),
            id="the first that is left, in the order of the node",
        ),
    ],
)
def test_first_untolerated(toleration: Toleration, taints: list[Taint], expected: Taint | None) -> None:
    assert first_untolerated(taints, [toleration]) == expected


def test_only_the_effects_that_are_asked_for_count() -> None:
    assert first_untolerated([DEDICATED, Taint("gone", effect="NoExecute")], [], {"NoExecute"}) == Taint(
        "gone", effect="NoExecute"
    )


@pytest.mark.parametrize(
    ("operator", "bound", "value", "expected"),
    [
        pytest.param("Gt", "950", "999", True, id="T06: above"),
        pytest.param("Gt", "950", "950", False, id="T06: equal is not above"),
        pytest.param("Gt", "950", "0999", False, id="T06: a leading zero makes no number"),
        pytest.param("Gt", "950", "abc", False, id="T06: letters"),
        pytest.param("Gt", "950", "-1", False, id="T06: a negative number is below"),
        pytest.param("Lt", "950", "-1", True, id="below"),
        pytest.param("Lt", "0", "-0", False, id="minus zero is no number"),
        pytest.param("Lt", "+5", "1", False, id="an explicit plus makes no number"),
        pytest.param("Lt", "", "1", False, id="an empty bound"),
        pytest.param("Gt", "٣", "4", False, id="digits of another script"),
        pytest.param("Lt", "9223372036854775807", "-9223372036854775808", True, id="the whole range of 64 bits"),
        pytest.param("Lt", "9223372036854775808", "1", False, id="past 64 bits there are no numbers"),
        pytest.param("Gt", "1", "9" * 100_000, False, id="100,000 digits"),
    ],
)
def test_comparisons(operator: str, bound: str, value: str, expected: bool) -> None:
    toleration, taint = Toleration("sla", operator, bound, "NoSchedule"), Taint("sla", value, "NoSchedule")
    assert toleration.tolerates(taint, comparisons=True) is expected
    assert not toleration.tolerates(taint)  # the gate is off by default


@pytest.mark.parametrize(
    ("effects", "tolerations", "expected"),
    [
        pytest.param([], [], 0, id="T08: no taints"),
        pytest.param(["PreferNoSchedule"], [], 1, id="T07 b: one"),
        pytest.param(["PreferNoSchedule"] * 3, [], 3, id="T07 c: three"),
        pytest.param(["PreferNoSchedule"] * 3, [Toleration("t1", "Exists")], 2, id="T09: one of three is tolerated"),
        pytest.param(["PreferNoSchedule"] * 2, [Toleration(operator="Exists")], 0, id="T08: all tolerated"),
        pytest.param(["NoSchedule", "NoExecute", "PreferNoSchedule"], [], 1, id="other effects do not count"),
        pytest.param(
            ["PreferNoSchedule"], [Toleration(operator="Exists", effect="NoSchedule")], 1, id="nor do they help"
        ),
    ],
)
def test_count_untolerated_preferences(effects: list[str], tolerations: list[Toleration], expected: int) -> None:
    taints = [Taint(f"t{index}", effect=effect) for index, effect in enumerate(effects)]
    assert count_untolerated_preferences(taints, tolerations) == expected


A, B = Toleration("a", "Equal", "1"), Toleration("b", "Exists", effect="NoExecute")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param([A, B], [B, A, A], True, id="order and repetition do not matter"),
        pytest.param([Toleration("a", "", "1")], [A], True, id="no operator is Equal"),
        pytest.param([Toleration("a", "Exists", "x")], [Toleration("a", "Exists")], True, id="Exists has no value"),
        pytest.param([A], [Toleration("a", "Equal", "2")], False, id="another value"),
        pytest.param([B], [Toleration("b", "Exists")], False, id="another effect"),
        pytest.param([], [Toleration()], False, id="none, and one for the empty value"),
    ],
)
def test_key(one: list[Toleration], other: list[Toleration], same: bool) -> None:
    assert (tolerations_key(one) == tolerations_key(other)) is same
    assert isinstance(hash(tolerations_key(one)), int)


WORDS = st.sampled_from(["", "a", "1", "2"])
EFFECTS = st.sampled_from(["", "NoSchedule", "NoExecute", "PreferNoSchedule"])
OPERATORS = st.sampled_from(["", "Equal", "Exists", "Lt", "Gt", "Foo"])
TOLERATIONS = st.lists(st.builds(Toleration, WORDS, OPERATORS, WORDS, EFFECTS), max_size=3)


@given(TOLERATIONS, TOLERATIONS, st.builds(Taint, WORDS, WORDS, EFFECTS), st.booleans())
def test_lists_with_one_key_tolerate_alike(
    one: list[Toleration], other: list[Toleration], taint: Taint, comparisons: bool
) -> None:
    restored = [Toleration(*key) for key in tolerations_key(one)]
    assert tolerated(taint, one, comparisons=comparisons) == tolerated(taint, restored, comparisons=comparisons)
    if tolerations_key(one) == tolerations_key(other):
        assert tolerated(taint, one, comparisons=comparisons) == tolerated(taint, other, comparisons=comparisons)


@given(TOLERATIONS, st.builds(Taint, WORDS, WORDS, EFFECTS), st.booleans())
def test_a_taint_is_covered_if_any_toleration_does(some: list[Toleration], taint: Taint, comparisons: bool) -> None:
    expected = any(each.tolerates(taint, comparisons=comparisons) for each in some)
    assert tolerated(taint, some, comparisons=comparisons) is expected


def test_taints_are_not_compared_with_each_toleration() -> None:
    some = Tolerated(Toleration(CountedText(f"key-{i}"), "Equal", CountedText("x")) for i in range(500))
    taints = [Taint(CountedText(f"other-{i}"), CountedText("x"), "NoSchedule") for i in range(500)]
    CountedText.compared = 0
    assert all(first_untolerated([taint], some) is taint for taint in taints)
    assert CountedText.compared <= 10 * 500


def test_decodes_what_the_api_sends() -> None:
    raw = b'{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}'
    assert msgspec.json.decode(raw, type=Toleration) == Toleration("k", "Exists", "", "NoExecute")
    raw = b'{"key":"k","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}'
    assert msgspec.json.decode(raw, type=Taint) == Taint("k", "", "NoExecute")


@pytest.mark.parametrize(
    ("taint", "shown"),
    [
        pytest.param(DEDICATED, "dedicated=user1:NoSchedule", id="with a value"),
        pytest.param(Taint("k", "", "NoExecute"), "k:NoExecute", id="without a value"),
    ],
)
def test_a_taint_is_shown_as_kubectl_writes_it(taint: Taint, shown: str) -> None:
    assert str(taint) == shown
