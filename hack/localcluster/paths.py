"""Where things are kept: built once per user, and one folder per living cluster."""

import os
from pathlib import Path

HACK = Path(__file__).resolve().parent.parent
REPOSITORY = HACK.parent


def cache_dir() -> Path:
    """The user's cache of built things, shared by all checkouts."""
    return _user_dir("PILOTAGE_CACHE", "XDG_CACHE_HOME", ".cache")


def state_dir() -> Path:
    """The folder that holds one folder per living cluster of this user."""
    return _user_dir("PILOTAGE_STATE", "XDG_STATE_HOME", ".local/state")


def _user_dir(own_variable: str, standard_variable: str, in_home: str) -> Path:
    if own := os.environ.get(own_variable):
        return Path(own).resolve()
    parent = os.environ.get(standard_variable) or Path.home() / in_home
    return Path(parent).resolve() / "pilotage"
