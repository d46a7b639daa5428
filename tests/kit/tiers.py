"""Which parameters of a test belong to a longer run: they carry its marker."""

from collections.abc import Collection, Iterable

import pytest


def tiered(
    values: Iterable[str | int], *, full: Collection[str | int] = (), faults: Collection[str | int] = ()
) -> list[pytest.ParameterSet]:
    """Return the values as parameters; those that are named here are left out of `make test`."""
    found = list(values)
    assert {*full, *faults} <= set(found), f"not there: {sorted({*full, *faults} - set(found))}"
    return [pytest.param(value, marks=_marks(value, full, faults)) for value in found]


def _marks(
    value: str | int, full: Collection[str | int], faults: Collection[str | int]
) -> tuple[pytest.MarkDecorator, ...]:
    return (*[pytest.mark.full] * (value in full), *[pytest.mark.faults] * (value in faults))
