"""Verdicts about many nodes are those of a plain loop over them."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.verdicts import SKIP, SKIP_SHAPE, Rejection, Verdicts

NO, NEVER, SOON = Rejection("no"), Rejection("never", preemption_helps=False), Rejection("soon", pending=True)


def mask(*bits: int) -> Any:
    return np.array(bits, np.bool_)


@st.composite
def masks(draw: st.DrawFn, most: int, pairs: bool = False) -> list[Any]:
    """Any number of masks, or of pairs of them, over the same nodes."""
    nodes = draw(st.integers(0, 12))
    one = st.lists(st.booleans(), min_size=nodes, max_size=nodes).map(lambda bits: np.array(bits, np.bool_))
    each: st.SearchStrategy[Any] = st.tuples(one, st.one_of(one, st.booleans())) if pairs else one
    return draw(st.lists(each, min_size=1, max_size=most))


@given(masks(6))
def test_first_of_is_the_first_case_that_holds(cases: list[Any]) -> None:
    rejections = [Rejection(f"case {number}") for number in range(len(cases))]
    verdicts = Verdicts.first_of(*zip(cases, rejections, strict=True))
    for place in range(len(cases[0])):
        holding = [rejection for case, rejection in zip(cases, rejections, strict=True) if case[place]]
        assert verdicts[place] == (holding[0] if holding else None)


@given(masks(40, pairs=True))
def test_all_reasons_are_those_of_every_case_that_holds(cases: list[Any]) -> None:
    told = [(f"case {number}", holds, hopeless) for number, (holds, hopeless) in enumerate(cases)]
    verdicts = Verdicts.all_reasons(told)
    assert len(verdicts.codes) == len(cases[0][0])
    for place in range(len(verdicts.codes)):
        reasons, hopeless = [], False
        for reason, holds, lost in told:
            if holds[place]:
                reasons.append(reason)
                hopeless |= bool(lost if isinstance(lost, bool) else lost[place])
        assert verdicts[place] == (Rejection(*reasons, preemption_helps=not hopeless) if reasons else None)


@pytest.mark.parametrize("count", [5, 6, 31, 32, 33, 62, 63, 100])
def test_the_last_of_many_reasons_is_not_lost(count: int) -> None:
    # A pod may ask for more kinds of resources than a number has bits.
    cases = [(f"Insufficient r{number}", mask(0, number == count - 1), mask(0, 1)) for number in range(count)]
    verdicts = Verdicts.all_reasons(cases)
    assert verdicts[0] is None
    assert verdicts[1] == Rejection(f"Insufficient r{count - 1}", preemption_helps=False)


def test_equal_verdicts_share_a_code() -> None:
    verdicts = Verdicts.all_reasons([("a", mask(1, 1, 0, 0), False), ("b", mask(0, 0, 1, 0), True)])
    assert len(verdicts.rejections) == 2
    assert verdicts.codes[0] == verdicts.codes[1] != verdicts.codes[2]
    assert verdicts.codes[3] == 0


def test_where() -> None:
    verdicts = Verdicts.where(mask(0, 1), NO)
    assert (verdicts[0], verdicts[1]) == (None, NO)


def test_all_fit() -> None:
    assert Verdicts.all_fit(2).codes.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("one", "other"),
    list(pairwise([NO, NEVER, SOON, Rejection("no", "way"), NO.by("Alpha"), NO.by("Beta")])),
)
def test_rejections_differ_by_reasons_hope_and_plugin(one: Rejection, other: Rejection) -> None:
    assert one != other
    assert one == Rejection(*one.reasons, preemption_helps=one.preemption_helps, pending=one.pending, plugin=one.plugin)
    assert len({one, other, one.by(one.plugin)}) == 2


def test_a_rejection_tells_all_reasons_in_one_line() -> None:
    assert Rejection("Insufficient cpu", "Too many pods").message == "Insufficient cpu, Too many pods"
    assert Rejection().message == ""


def test_both_ways_to_skip_say_the_same() -> None:
    assert SKIP == SKIP_SHAPE
    assert hash(SKIP) == hash(SKIP_SHAPE)
    assert repr(SKIP) == "SKIP"
    assert SKIP is not SKIP_SHAPE
