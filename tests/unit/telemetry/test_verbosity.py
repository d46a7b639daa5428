"""klog's verbosity on top of logging's levels."""

import logging
from collections.abc import Iterator

import pytest

from pilotage.telemetry.verbosity import (
    LEVELS,
    V2,
    V5,
    InvalidRule,
    Rule,
    Verbosity,
    level_of,
    parse_rules,
    verbosity_of,
)


@pytest.fixture(autouse=True)
def _levels() -> Iterator[None]:
    """Leave all loggers as they were."""
    before = {logger: logger.level for logger in loggers()}
    yield
    for logger in loggers():
        logger.setLevel(before.get(logger, logging.NOTSET))


def loggers() -> list[logging.Logger]:
    """Return all loggers that somebody has asked for."""
    known = list(logging.root.manager.loggerDict.values())
    return [logging.getLogger(), *(each for each in known if isinstance(each, logging.Logger))]


def test_each_verbosity_has_a_level_below_the_one_before() -> None:
    assert list(LEVELS) == sorted(set(LEVELS), reverse=True)
    assert [verbosity_of(level_of(number)) for number in range(11)] == list(range(11))


@pytest.mark.parametrize(
    ("verbosity", "level"),
    [
        pytest.param(0, logging.INFO, id="0 is what everybody should know"),
        pytest.param(4, logging.DEBUG, id="4 is for debugging"),
        pytest.param(99, 4, id="more than all is all"),
        pytest.param(-1, logging.INFO, id="less than nothing is nothing"),
    ],
)
def test_levels(verbosity: int, level: int) -> None:
    assert level_of(verbosity) == level


def test_it_can_be_changed_while_running() -> None:
    log = logging.getLogger("pilotage.some_module")
    verbosity = Verbosity(0)
    assert not log.isEnabledFor(V2)
    verbosity.put(2)
    assert log.isEnabledFor(V2)
    assert not log.isEnabledFor(V5)


def test_others_tell_of_every_request_only_to_who_wants_to_know() -> None:
    access = logging.getLogger("aiohttp.access")
    verbosity = Verbosity(5)
    assert not access.isEnabledFor(logging.INFO)
    assert access.isEnabledFor(logging.WARNING)
    verbosity.put(6)
    assert access.isEnabledFor(logging.INFO)


def test_a_rule_is_for_modules_by_the_last_part_of_their_name() -> None:
    log, other = logging.getLogger("pilotage.queue.test_module"), logging.getLogger("pilotage.test_module.queue")
    verbosity = Verbosity(0, parse_rules("nothing=1,test_mod*=5"))
    assert log.isEnabledFor(V5)
    assert not other.isEnabledFor(V5)
    late = logging.getLogger("pilotage.test_mod_that_came_late")
    verbosity.apply_rules()
    assert late.isEnabledFor(V5)


def test_rules_are_read_as_klog_reads_them() -> None:
    assert parse_rules("scheduling_queue=4, node_*=2,") == [Rule("scheduling_queue", 4), Rule("node_*", 2)]


@pytest.mark.parametrize("text", ["queue", "=4", "queue=", "queue=high", "queue=-1"])
def test_what_is_no_rule_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidRule, match="write module=N, as in scheduling_queue=4"):
        parse_rules(text)
