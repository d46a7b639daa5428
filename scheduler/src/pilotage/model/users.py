"""Who asks, as the API server knows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ANONYMOUS = "system:anonymous"
MASTERS = "system:masters"  # whose members may do everything


@dataclass(frozen=True, slots=True)
class User:
    """A user, as the API server knows them."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)
