"""No printed command is forgotten: each is run by a test of pages, or is listed with the reason why it is not."""

import pytest

from kit.printed_commands import commands_of, pages, unmarked
from kit.printed_pages import ENDLESS, ON_REAL_NODES, UNRUN, Unrun, Where, pages_to_run, place_of

ALL = [printed for page in pages() for printed in commands_of(page)]


@pytest.mark.parametrize("listed", UNRUN, ids=[each.pattern for each in UNRUN])
def test_what_is_listed_is_printed_somewhere(listed: Unrun) -> None:
    assert any(listed.speaks_of(printed) for printed in ALL)


@pytest.mark.parametrize("start", ENDLESS)
def test_what_goes_on_for_ever_is_printed_somewhere(start: str) -> None:
    assert any(printed.command.startswith(start) for printed in ALL)


def test_commands_stand_where_they_are_looked_for() -> None:
    assert {page.name: lines for page in pages() if (lines := unmarked(page))} == {}


def test_what_needs_real_nodes_is_run_on_real_nodes() -> None:
    assert set(pages_to_run(Where.REAL_NODES)) <= set(ON_REAL_NODES)


def test_most_are_run() -> None:
    """The list must not become the rule: whoever adds to it sees how much is left."""
    run = [printed for printed in ALL if place_of(printed) is not Where.NOWHERE]
    assert len(run) > 0.75 * len(ALL)
