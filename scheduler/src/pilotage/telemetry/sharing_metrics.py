"""Metrics of sharing a cluster with other schedulers, read at each scrape."""

from collections.abc import Callable, Mapping

from pilotage.telemetry.families import ALPHA, Family, ReadCounts

ByName = Callable[[], Mapping[str, int]]


class SharingMetrics:
    """Rejections by kubelets, binds of other schedulers, and results of the check before binds."""

    def __init__(self) -> None:
        self._rejections = ReadCounts(
            "pilotage_rejections_total",
            ALPHA,
            "Pods bound by this scheduler and rejected by the kubelet for lack of resources, by reason.",
            ("reason",),
        )
        self._foreign_binds = ReadCounts("pilotage_foreign_binds_total", ALPHA, "Pods bound by other schedulers.")
        self._race_checks = ReadCounts(
            "pilotage_race_checks_total",
            ALPHA,
            "Checks of a node before a bind, by result: unchanged, fits, full, or held after a rejection.",
            ("result",),
        )

    def families(self) -> list[Family]:
        """Return all metrics."""
        return [self._rejections, self._foreign_binds, self._race_checks]

    def read_sharing(self, *, rejections: ByName, foreign_binds: Callable[[], int], checks: ByName) -> None:
        """Register the sources."""
        self._rejections.read = lambda: [((reason,), number) for reason, number in rejections().items()]
        self._foreign_binds.read = lambda: [((), foreign_binds())]
        self._race_checks.read = lambda: [((result,), number) for result, number in checks().items()]
