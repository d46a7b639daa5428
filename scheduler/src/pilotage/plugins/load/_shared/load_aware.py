"""The common base of plugins that score by load."""

import numpy as np
from pydantic import Field, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid
from pilotage.config.types import Int64
from pilotage.framework.api.caching import SHAPE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.handle import Handle
from pilotage.framework.api.nodes import Ints, Nodes
from pilotage.framework.api.plugin import Permission, Plugin, Score, UsesLoad
from pilotage.framework.runtime.reading import permission_on
from pilotage.kinds.node_metrics import NodeMetrics
from pilotage.model.outside_services import Service
from pilotage.model.pod import Pod
from pilotage.plugins.load._shared.arguments import PROMETHEUS, MetricProvider, wrong_address
from pilotage.plugins.load._shared.figures import LoadFigures, LoadView

NO_FIGURES = -1  # the raw score of a node without figures


def others_mean(plugin: Plugin, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
    """Give nodes without figures the mean of the others, so that they are neither best nor worst, or 0."""
    unknown = scores == NO_FIGURES
    if not unknown.any():
        return scores
    known = scores[~unknown]
    mean = int((2 * int(known.sum()) + len(known)) // (2 * len(known))) if len(known) else 0
    return np.where(unknown, mean, scores)


class LoadAware(Score, UsesLoad):
    """Scores nodes by load metrics; without metrics all nodes score alike."""

    watcher_address: StrictStr = Field(default="", description="The URL of a load-watcher; it takes precedence.")
    metric_provider: MetricProvider = Field(
        default=MetricProvider(), description="The source of metrics: the metrics API of the cluster, or Prometheus."
    )
    refresh_seconds: Int64 = Field(default=30, description="The interval between queries.")
    stale_after_seconds: Int64 = Field(default=300, description="The maximum age of usable metrics.")

    caching = Caching(per=SHAPE)
    retry_on = ()
    permissions = (permission_on(NodeMetrics, "list"),)
    normalize = others_mean

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._view = LoadView()

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the source."""
        times = {"refreshSeconds": self.refresh_seconds, "staleAfterSeconds": self.stale_after_seconds}
        found = [
            invalid((*at, name), seconds, "must be at least 1 second") for name, seconds in times.items() if seconds < 1
        ]
        if self.watcher_address:
            found += wrong_address((*at, "watcherAddress"), self.watcher_address)
        else:
            found += self.metric_provider.wrong((*at, "metricProvider"))
        return found

    def needed(self) -> tuple[Permission, ...]:
        """Return the permission to read the metrics API, if that is the source."""
        elsewhere = self.watcher_address or self.metric_provider.type == PROMETHEUS
        return () if elsewhere else self.permissions

    def service(self) -> tuple[At, Service] | None:
        """Return the service to call besides the API server, and the argument that names it; or None."""
        if self.watcher_address:
            return (), Service(self.watcher_address, "watcherAddress")
        asked = self.metric_provider
        return (("metricProvider",), asked.service()) if asked.type == PROMETHEUS else None

    def start(self, handle: Handle) -> None:
        """Start collecting figures; without a collector, use NodeMetrics objects."""
        super().start(handle)
        source = handle.load.source(self)
        if source is not None:
            self._view.connect(source, handle.clock, float(self.stale_after_seconds))

    def epoch(self, cycle: Cycle) -> int:
        """Return a number that changes with the figures, also when some become too old."""
        return self.figures(cycle).version

    def figures(self, cycle: Cycle) -> LoadFigures:
        """Return the current figures."""
        return self._view.figures(cycle)
