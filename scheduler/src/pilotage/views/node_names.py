"""Names, zones and types of all nodes, kept until a node changes."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field

from pilotage.framework.api.nodes import NodeInfo

ZONE, TYPE = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"
A_PART = 500  # nodes in one step


class Distinct:
    """The values of a label that occur, and the place of each node's among them; none if no node has the label.

    Not from the columns of the cache: a column that only this uses would cost every update of a node.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._known: dict[str, int] = {}
        self._found: list[int] = []

    def add(self, infos: Iterable[NodeInfo]) -> None:
        """Add nodes; "" stands for those without the label."""
        label, known = self._label, self._known
        self._found += [known.setdefault(info.labels.get(label, ""), len(known)) for info in infos]

    @property
    def values(self) -> list[str]:
        """Return the distinct values."""
        return list(self._known) if any(self._known) else []

    @property
    def places(self) -> list[int]:
        """Return the place of each node's value."""
        return self._found if any(self._known) else []


@dataclass(slots=True)
class Named:
    """All nodes at one version."""

    version: int
    names: list[str] = field(default_factory=list)
    zones: Distinct = field(default_factory=lambda: Distinct(ZONE))
    types: Distinct = field(default_factory=lambda: Distinct(TYPE))


class NodeNames:
    """Keeps the names of the version that was last requested."""

    def __init__(self) -> None:
        self._kept: Named | None = None

    def of(self, infos: Sequence[NodeInfo], version: int) -> Generator[None, None, Named]:
        """Return the names of nodes as they were at a version of the cluster."""
        if self._kept is not None and self._kept.version == version:
            return self._kept
        found = Named(version)
        for start in range(0, len(infos), A_PART):
            part = infos[start : start + A_PART]
            found.names += [info.name for info in part]
            found.zones.add(part)
            found.types.add(part)
            yield
        self._kept = found
        return found
