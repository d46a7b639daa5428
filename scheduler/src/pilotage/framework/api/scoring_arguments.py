"""Arguments shared by plugins that score by resources: weighted resources, and functions by points."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, forbidden, invalid, required, unsupported
from pilotage.config.types import Int32, Int64, Section
from pilotage.framework.api.resource_scoring import (
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
    Strategy,
)
from pilotage.framework.api.scoring import MAX_SCORE

LEAST, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
HIGHEST_WEIGHT = 100
HIGHEST_UTILIZATION = 100
HIGHEST_SHAPE_SCORE = 10


class ResourceSpec(Section):
    """A resource and its weight; zero stands for 1."""

    name: StrictStr = ""
    weight: Annotated[Int64, AfterValidator(lambda weight: weight or 1)] = 1


DEFAULT_RESOURCES = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))
# An empty list stands for the default one.
ResourceSpecs = Annotated[tuple[ResourceSpec, ...], AfterValidator(lambda given: given or DEFAULT_RESOURCES)]


class UtilizationShapePoint(Section):
    """One point of a function from utilization, 0 to 100, to a score, 0 to 10."""

    utilization: Int32 = 0
    score: Int32 = 0


class RatioArguments(Section):
    """The function from utilization to score."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(Section):
    """The strategy for scoring nodes, and the resources that it uses."""

    type: StrictStr = ""
    resources: ResourceSpecs = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RatioArguments | None = Field(default=None, exclude_if=lambda given: given is None)

    def faults(self, at: At) -> Iterator[Fault]:
        """Yield the errors in the strategy."""
        if self.type not in (LEAST, MOST, RATIO):
            yield unsupported((*at, "type"), self.type, (LEAST, MOST, RATIO))
        for i, resource in enumerate(self.resources):
            if not 0 < resource.weight <= HIGHEST_WEIGHT:
                detail = f"resource weight of {resource.name} not in valid range (0, {HIGHEST_WEIGHT}]"
                yield invalid((*at, "resources", i, "weight"), resource.weight, detail)
        ratio, ratio_at = self.requested_to_capacity_ratio, (*at, "requestedToCapacityRatio")
        if self.type != RATIO and ratio is not None:
            yield forbidden(ratio_at, f"must be nil when type is not {RATIO}")
        elif self.type == RATIO and ratio is None:
            yield required(ratio_at, f"must be specified when type is {RATIO}")
        elif ratio is not None:
            yield from shape_faults(ratio.shape, (*ratio_at, "shape"))

    def compiled(self) -> Strategy:
        """Return the strategy, ready to run."""
        if self.requested_to_capacity_ratio is None:
            return MostAllocated() if self.type == MOST else LeastAllocated()
        steps = MAX_SCORE // HIGHEST_SHAPE_SCORE
        points = self.requested_to_capacity_ratio.shape
        return RequestedToCapacityRatio([(point.utilization, point.score * steps) for point in points])


def shape_faults(shape: Sequence[UtilizationShapePoint], at: At) -> Iterator[Fault]:
    """Yield the errors in the points of a function."""
    if not shape:
        yield required(at, "at least one point must be specified")
    for i, (left, right) in enumerate(pairwise(shape), start=1):
        if left.utilization >= right.utilization:
            yield invalid((*at, i, "utilization"), right.utilization, "values must be sorted in increasing order")
            break
    for i, point in enumerate(shape):
        if not 0 <= point.utilization <= HIGHEST_UTILIZATION:
            detail = f"not in valid range [0, {HIGHEST_UTILIZATION}]"
            yield invalid((*at, i, "utilization"), point.utilization, detail)
        if not 0 <= point.score <= HIGHEST_SHAPE_SCORE:
            yield invalid((*at, i, "score"), point.score, f"not in valid range [0, {HIGHEST_SHAPE_SCORE}]")
