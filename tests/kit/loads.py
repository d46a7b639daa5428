"""Figures of how busy nodes are, for tests of plugins that score by them."""

from typing import Any, TypeVar

from pilotage.framework.api.handle import Handle, LoadQuery
from pilotage.kinds.node_metrics import NodeMetrics
from pilotage.model.metadata import Metadata
from pilotage.model.node_load import NodeLoad, ResourceLoad
from pilotage.plugins.load._shared.load_aware import LoadAware

Scoring = TypeVar("Scoring", bound=LoadAware)
Measured = tuple[float, ...] | None  # average and deviation in percent

NOW = 1_000_000.0


class Figures:
    """A source that says what it is told to, and a clock that stands still."""

    def __init__(self, **loads: NodeLoad) -> None:
        self.loads = loads
        self.now = NOW

    def source(self, query: LoadQuery) -> "Figures":
        """Return itself, whatever is wanted."""
        return self

    def clock(self) -> float:
        """Return the time."""
        return self.now


def load(cpu: Measured = None, memory: Measured = None, until: float = NOW) -> NodeLoad:
    """Return what is known of a node."""
    return NodeLoad(_resource(cpu), _resource(memory), until)


def _resource(measured: Measured) -> ResourceLoad | None:
    return None if measured is None else ResourceLoad(*measured)


def connected(plugin: type[Scoring], figures: Figures, /, **arguments: Any) -> Scoring:
    """Return a plugin that sees these figures; the arguments are as a file has them."""
    made = plugin.of(arguments)
    assert made.faults(()) == []
    made.start(Handle(load=figures, clock=figures.clock))
    return made


def node_metrics(name: str, **usage: str) -> NodeMetrics:
    """Return what the metrics API would say about a node."""
    return NodeMetrics(Metadata(name), usage=dict(usage))
