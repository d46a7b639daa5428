"""What belongs to a longer run: parameters, which carry its marker, and most examples of what is generated."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings

AT_LENGTH = 100  # examples, which is what hypothesis makes by itself


def tiered(
    values: Iterable[str | int], *, full: Collection[str | int] = (), faults: Collection[str | int] = ()
) -> list[pytest.ParameterSet]:
    """Return the values as parameters; those that are named here are left out of `make test`."""
    found = list(values)
    assert {*full, *faults} <= set(found), f"not there: {sorted({*full, *faults} - set(found))}"
    return [pytest.param(value, marks=_marks(value, full, faults)) for value in found]


def examples(count: int, **more: Any) -> settings:
    """Return settings for so many examples, of which a run that has no time makes a part; each run makes others."""
    return settings(max_examples=max(1, count * settings().max_examples // AT_LENGTH), **more)


def _marks(
    value: str | int, full: Collection[str | int], faults: Collection[str | int]
) -> tuple[pytest.MarkDecorator, ...]:
    return (*[pytest.mark.full] * (value in full), *[pytest.mark.faults] * (value in faults))
