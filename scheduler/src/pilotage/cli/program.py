"""One program under two names: help and hints use the one that it was called by."""

import sys
from importlib.util import find_spec
from pathlib import PurePath

PLUGIN = "kubectl-pilotage"
ENDINGS = (".exe", ".pyz")
WHOLE = "install the wheel of the release with pipx or uv (docs/kubectl.md)"


def program_name(called_as: str | None = None) -> str:
    """Return what the user types: `kubectl pilotage` for the plugin, else `pilotage`."""
    name = PurePath(called_as if called_as is not None else sys.argv[0]).name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    # krew writes an underscore.
    return "kubectl pilotage" if name.replace("_", "-") == PLUGIN else "pilotage"


def is_small() -> bool:
    """Return whether this is the small plugin, which has no engine and asks a running scheduler."""
    return find_spec("numpy") is None or find_spec("msgspec") is None
