"""The greatest of numbers that come and go."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pilotage.plugins.gangs.coscheduling.greatest import Greatest

NUMBERS = st.integers(0, 6)


@given(st.lists(st.tuples(st.booleans(), NUMBERS)))
def test_it_is_what_a_look_at_all_of_them_says(steps: list[tuple[bool, int]]) -> None:
    numbers, there = Greatest(), Counter[int]()
    for comes, number in steps:
        if comes:
            numbers.add(number)
            there[number] += 1
        elif there[number]:
            numbers.remove(number)
            there[number] -= 1
        assert numbers.greatest(-1) == max(there.elements(), default=-1)


def test_numbers_that_come_and_go_below_the_greatest_are_not_kept() -> None:
    numbers = Greatest()
    numbers.add(10)
    for _ in range(1_000):
        numbers.add(1)
        numbers.remove(1)
    assert len(numbers._heap) < 100
    assert numbers.greatest(0) == 10
