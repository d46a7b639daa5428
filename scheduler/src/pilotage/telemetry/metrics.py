"""All metrics for Prometheus: those of kube-scheduler under their names, and ours with the prefix pilotage_."""

import logging
import platform
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import generate_latest

from pilotage.telemetry.api_metrics import ApiMetrics
from pilotage.telemetry.attempt_metrics import AttemptMetrics
from pilotage.telemetry.cluster_metrics import ClusterMetrics
from pilotage.telemetry.families import ALPHA, BETA, Allowed, Family, Gauges
from pilotage.telemetry.plugin_metrics import PluginMetrics
from pilotage.telemetry.queue_metrics import QueueMetrics
from pilotage.telemetry.sharing_metrics import SharingMetrics

log = logging.getLogger(__name__)


class Build(NamedTuple):
    """Our version and commit, and the emulated release of kube-scheduler."""

    version: str = ""
    commit: str = ""
    kubernetes: str = ""  # as in v1.37.1


class Metrics(AttemptMetrics, QueueMetrics, PluginMetrics, ClusterMetrics, SharingMetrics, ApiMetrics):
    """All metric families, pushed and read, and their exposition."""

    def __init__(
        self,
        build: Build | None = None,
        *,
        disabled: Collection[str] = (),
        allowed: Mapping[str, Allowed] | None = None,  # by metric
    ) -> None:
        parts = (AttemptMetrics, QueueMetrics, PluginMetrics, ClusterMetrics, SharingMetrics, ApiMetrics)
        for part in parts:
            part.__init__(self)
        found: list[Family] = [family for part in parts for family in part.families(self)]
        found += _build_info(build or Build())
        self._families = sorted((each for each in found if each.name not in disabled), key=lambda each: each.name)
        self._allowed, self._disabled = allowed or {}, disabled
        self.of_plugins: Iterable[Family] = ()  # metrics that plugins define
        # Metrics of Python and the process, and those that plugins register there.
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format; those that cannot be read are left out."""
        families = (*self._families, *(each for each in self.of_plugins if each.name not in self._disabled))
        return "".join([self._text_of(family) for family in families]).encode() + generate_latest(self.registry)

    def reset(self) -> None:
        """Reset all counters to zero."""
        for family in (*self._families, *self.of_plugins):
            family.reset()

    def _text_of(self, family: Family) -> str:
        try:
            return family.text(self._allowed.get(family.name, {}))
        except Exception:
            log.exception("cannot read the metric %s", family.name)
            return ""


def _build_info(build: Build) -> list[Family]:
    ours = Gauges("pilotage_build_info", ALPHA, "Build information; always 1.", ("version", "commit", "python_version"))
    ours.put(1, (build.version, build.commit, platform.python_version()))
    if not build.kubernetes:
        return [ours]
    labels = {
        "major": build.kubernetes.removeprefix("v").split(".")[0],
        "minor": build.kubernetes.split(".")[1],
        "git_version": build.kubernetes,
        "git_commit": build.commit,
        "git_tree_state": "",
        "build_date": "",
        "go_version": "",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    meaning = "The Kubernetes version whose scheduler is emulated; always 1."
    kubernetes = Gauges("kubernetes_build_info", BETA, meaning, tuple(labels))
    kubernetes.put(1, tuple(labels.values()))
    return [ours, kubernetes]
