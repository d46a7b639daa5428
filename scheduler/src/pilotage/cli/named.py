"""Objects as kubectl takes them: KIND/NAME, with short names and plurals."""

import re
from collections.abc import Collection
from urllib.parse import quote

from pilotage.cli.command import BadInput

POD, PROFILE = "pod", "schedulerprofile"
# Short names; plurals are accepted, too.
ALIASES = {
    POD: ("po",),
    PROFILE: ("schedprof", "profile"),
    "deployment": ("deploy",),
    "replicaset": ("rs",),
    "statefulset": ("sts",),
    "daemonset": ("ds",),
    "job": (),
    "cronjob": ("cj",),
    "podgroup": ("pg",),
}
ONE_NAMESPACE = "a pod cannot be named across all namespaces; write -n NAMESPACE instead of -A"
# Anything else could be another path of the API.
NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?")


def named(word: str, usual: str, known: Collection[str]) -> tuple[str, str]:
    """Return kind and name of KIND/NAME, or of NAME alone, which has the usual kind."""
    kind, slash, name = word.rpartition("/")
    full = _full(kind) if slash else usual
    if full not in known:
        raise BadInput(f"{word}: write one of {', '.join(f'{each}/NAME' for each in sorted(known))}")
    if not NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not a valid name of a Kubernetes object")
    return full, name


def is_kind(word: str) -> bool:
    """Return whether a word is a kind or its short name."""
    return _full(word) in ALIASES


def quoted(name: str) -> str:
    """Return a name as part of a path."""
    return quote(name, safe="")


def _full(kind: str) -> str:
    small = kind.lower().partition(".")[0]
    return next((full for full, others in ALIASES.items() if small in (full, f"{full}s", *others)), small)
