"""Authenticated users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ANONYMOUS = "system:anonymous"
MASTERS = "system:masters"  # its members may do everything


@dataclass(frozen=True, slots=True)
class User:
    """A user as authenticated by the API server."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)
