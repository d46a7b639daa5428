"""NodeResourcesAllocatable: prefers small or large nodes, regardless of their pods."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, invalid
from pilotage.config.types import Int64, Section
from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.huge_amounts import exact_where_huge
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Score
from pilotage.framework.api.scoring import by_range, truncated_division
from pilotage.model.pod import Pod
from pilotage.model.quantity import LARGEST

LEAST, MOST = "Least", "Most"


class ResourceWeight(Section):
    """A resource, and the weight of one unit: a thousandth of a core, a byte, a device."""

    name: StrictStr = ""
    weight: Int64 = 0


# A millicore has the weight of a mebibyte.
DEFAULT_RESOURCES = (ResourceWeight(name="cpu", weight=1 << 20), ResourceWeight(name="memory", weight=1))


class NodeResourcesAllocatable(Score):
    """Prefer nodes with small or large allocatable resources, regardless of their pods."""

    mode: Annotated[StrictStr, AfterValidator(lambda given: given or LEAST)] = Field(
        default=LEAST, description="Least prefers small nodes, Most large ones."
    )
    resources: Annotated[tuple[ResourceWeight, ...], AfterValidator(lambda given: given or DEFAULT_RESOURCES)] = Field(
        default=DEFAULT_RESOURCES,
        description="The resources to count; for duplicates, the last weight applies.",
    )

    caching = Caching(STATIC, per=SHAPE)
    retry_on = ()
    normalize = by_range

    def faults(self, at: At) -> list[Fault]:
        """Return all errors as one fault, since the original plugin only finds them in its constructor."""
        found = list(self._wrong())
        texts = list(dict.fromkeys(fault.text for fault in found))
        if not texts:
            return []
        text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return [Fault(Stage.PROFILES, text, (*at, *found[0].at), found[0].hint)]

    def _wrong(self) -> Iterator[Fault]:
        for i, (name, weight) in enumerate((each.name, each.weight) for each in self.resources):
            if weight <= 0:
                detail = f"resource weight of {name} should be a positive value, got :{weight}"
                yield invalid(("resources", i, "weight"), weight, detail)
        if self.mode not in (LEAST, MOST):
            yield invalid(("mode",), self.mode, "invalid support ModeType", f"write {LEAST} or {MOST}", named_type=True)

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the weighted mean of the allocatable amounts, negated if small nodes are best."""
        total = sum(node.allocatable.get(name, 0) * weight for name, weight in self._weights.items())
        size = abs(total) // self._sum_of_weights
        return self._sign * (size if total >= 0 else -size)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes."""
        return exact_where_huge(
            nodes, lambda some: self._score_ordinary(cycle, pod, some), lambda node: self.score(cycle, pod, node)
        )

    def _score_ordinary(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        columns = [(weight, nodes.allocatable(name)) for name, weight in self._weights.items()]
        if not _stays_within_64_bits(columns):
            return super().score_nodes(cycle, pod, nodes)
        total = np.zeros(len(nodes), np.int64)
        for weight, amounts in columns:
            total += amounts * weight
        return self._sign * truncated_division(total, self._sum_of_weights)

    @cached_property
    def _weights(self) -> Mapping[str, int]:
        return {each.name: each.weight for each in self.resources}

    @cached_property
    def _sum_of_weights(self) -> int:
        return sum(self._weights.values())

    @property
    def _sign(self) -> int:
        return -1 if self.mode == LEAST else 1


def _stays_within_64_bits(columns: Sequence[tuple[int, Ints]]) -> bool:
    """Return whether sums of weighted amounts, and of weights alone, fit into 64 bits."""
    extremes = [(weight, int(amounts.min(initial=0)), int(amounts.max(initial=1))) for weight, amounts in columns]
    return sum(weight * max(-low, high) for weight, low, high in extremes) <= LARGEST
