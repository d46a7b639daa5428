"""What a hostile shape is, and the list of all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from pilotage.testing import Manifest

LARGEST = 1_500_000  # bytes: etcd takes no larger request

Make = Callable[[int, Random], list[Manifest]]


def nothing(_size: int, _random: Random) -> list[Manifest]:
    """Return no objects."""
    return []


@dataclass(frozen=True)
class Shape:
    """Objects that a user may create, of any size."""

    name: str
    size: int  # the default size of a trial
    make: Make
    setting: Make = nothing  # what has to be there before
    plugins: tuple[str, ...] = ()  # beside the default ones
    is_short: bool = False  # whether `make test` tries it, too


def all_shapes() -> dict[str, Shape]:
    """Return every shape of the corpus by its name."""
    from hostile import (
        claim_shapes,
        configuration_shapes,
        device_shapes,
        gang_shapes,
        node_shapes,
        pod_shapes,
        tenant_shapes,
    )

    of_objects = (pod_shapes, gang_shapes, node_shapes, claim_shapes, device_shapes)
    modules = (*of_objects, tenant_shapes, configuration_shapes)
    return {shape.name: shape for module in modules for shape in module.SHAPES}
