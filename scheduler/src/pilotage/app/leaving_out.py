"""Leaves out profiles whose plugins cannot start, so that the others are served."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from pilotage.app import Configured
from pilotage.config.load import Loaded
from pilotage.plugins.catalogue import BrokenPlugin

log = logging.getLogger(__name__)

Made = TypeVar("Made")


def without(loaded: Loaded, scheduler_name: str) -> Loaded | None:
    """Return a configuration without one of its profiles; None if it has no other."""
    left = [
        (profile, expansion)
        for profile, expansion in zip(loaded.config.profiles, loaded.expansions, strict=True)
        if profile.scheduler_name != scheduler_name
    ]
    if not left:
        return None
    profiles, expansions = zip(*left, strict=True)
    return replace(loaded, config=loaded.config.model_copy(update={"profiles": profiles}), expansions=expansions)


def start_without_failing(ready: Configured, make: Callable[[Configured], Made]) -> tuple[Made, list[BrokenPlugin]]:
    """Return the result for the profiles that can start, and why others cannot; BrokenPlugin if none can.

    Every try builds all of them again: a plugin can be started only once.
    """
    left_out: list[BrokenPlugin] = []
    while True:
        try:
            return make(ready), left_out
        except BrokenPlugin as error:
            rest = without(ready.loaded, error.profile) if error.profile else None
            if rest is None:
                raise
            log.error("the profile %s cannot start, only the others are served: %s", error.profile, error)
            left_out.append(error)
            ready = replace(ready, loaded=rest)
