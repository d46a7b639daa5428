"""What unit tests leave behind in the process, and must not."""

from collections.abc import Iterator

import pytest

from pilotage.framework.runtime.call_watch import NO_LIMIT, WATCH


@pytest.fixture(autouse=True)
def no_budget_of_another_test() -> Iterator[None]:
    """Take back the budget for calls of plugins: where nobody counts turns, those of all later tests would add up."""
    yield
    WATCH.budget = NO_LIMIT
