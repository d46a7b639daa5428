"""What a search for devices can find out about a node."""

from enum import Enum
from typing import Final, NamedTuple

from msgspec import Struct

from pilotage.model.quantity import Quantity

FITS: Final = 0
CANNOT_ALLOCATE: Final = 1
INVALID_POOLS: Final = 2
FAILED: Final = 3

NO_DEVICES = "cannot allocate all claims"
POOLS_ARE_INVALID = "invalid resource pools were encountered"


class AllocationFailed(Exception):
    """A search ended with an error, with kube-scheduler's text."""


class Pick(NamedTuple):
    """A device that a request gets; its share is what it consumes of each capacity, None if it gets all of it."""

    request: int
    alternative: int
    place: int  # in the order of the devices that the node sees
    share: tuple[Quantity, ...] | None = None


class Solution(Struct, frozen=True, gc=False):
    """The devices for each claim, in the order in which they were taken."""

    picks: tuple[tuple[Pick, ...], ...]
    score: int = 0


class NoSolution(Struct, frozen=True, gc=False):
    """The devices of a node are not enough."""

    invalid_pools: bool = False

    @property
    def text(self) -> str:
        """Return kube-scheduler's reason."""
        return POOLS_ARE_INVALID if self.invalid_pools else NO_DEVICES


class What(Enum):
    """What a part of an error text names."""

    CLAIM = "namespace and name of a claim, by its index"
    DEVICE = "driver, pool and name of a device, by its place"
    DEVICE_ALONE = "name of a device, by its place"
    POOL = "driver and name of a pool, by its index"
    NODE = "name of the node"


Part = str | tuple[What, int]


class Failure(Struct, frozen=True, gc=False):
    """An error, without the names in its text: it is the same for all nodes with such devices and all such claims."""

    parts: tuple[Part, ...]


Outcome = Solution | NoSolution | Failure
NO_SOLUTION: Final = NoSolution()
NO_VALID_SOLUTION: Final = NoSolution(invalid_pools=True)


class RequestReasons(Struct, frozen=True):
    """Which devices of a node a request finds, and why it cannot use the others; each device counts once."""

    claim: str
    request: str  # with the name of the alternative: gpu/small
    wanted: int
    exist: int = 0
    match: int = 0
    taken: int = 0
    tainted: int = 0
    too_small: int = 0
    selector: str = ""  # the first selector after which none was left
