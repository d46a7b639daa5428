"""Log verbosity: klog's numbers, 0 to 10, as levels of `logging`, for all or some modules.

0 is INFO; 4, the debug level by Kubernetes' conventions, is DEBUG; the others are between and below.
"""

import logging
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

LEVELS = (logging.INFO, 18, 16, 13, logging.DEBUG, 9, 8, 7, 6, 5, 4)
V1, V2, V3, V4, V5, V6, V7, V8, V9, V10 = LEVELS[1:]

# These log every request at INFO, which is only useful for debugging requests.
CHATTY = ("aiohttp", "asyncio")
REQUESTS = 6


class Rule(NamedTuple):
    """The verbosity of modules whose name matches."""

    pattern: str
    verbosity: int


class InvalidRule(ValueError):
    """An invalid rule."""


def level_of(verbosity: int) -> int:
    """Return the lowest level that is logged."""
    return LEVELS[max(0, min(verbosity, len(LEVELS) - 1))]


def verbosity_of(level: int) -> int:
    """Return the lowest verbosity at which a level is logged."""
    return next((number for number, lowest in enumerate(LEVELS) if level >= lowest), len(LEVELS) - 1)


def parse_rules(text: str) -> list[Rule]:
    """Return the rules of a text such as scheduling_queue=4,node_*=2, or raise InvalidRule."""
    rules = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        pattern, equals, number = part.rpartition("=")
        if not pattern or not equals or not number.isascii() or not number.isdecimal():
            raise InvalidRule(f"{part!r} is not a module rule; write module=N, as in scheduling_queue=4")
        rules.append(Rule(pattern.removesuffix(".py"), int(number)))
    return rules


class Verbosity:
    """The current verbosity; it can be changed at any time."""

    def __init__(self, verbosity: int = 0, rules: Iterable[Rule] = ()) -> None:
        self._rules = list(rules)
        self.put(verbosity)

    def put(self, verbosity: int) -> None:
        """Set the verbosity of modules without a rule."""
        self.verbosity = verbosity
        logging.getLogger().setLevel(level_of(verbosity))
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.NOTSET if verbosity >= REQUESTS else logging.WARNING)
        self.apply_rules()

    def apply_rules(self) -> None:
        """Apply the rules, also to modules that were loaded later."""
        if not self._rules:
            return
        for name, logger in list(logging.root.manager.loggerDict.items()):
            if isinstance(logger, logging.Logger) and (level := self._ruled(name)) is not None:
                logger.setLevel(level)

    def _ruled(self, name: str) -> int | None:
        module = name.rpartition(".")[2]
        levels = (level_of(rule.verbosity) for rule in self._rules if fnmatchcase(module, rule.pattern))
        return next(levels, None)
