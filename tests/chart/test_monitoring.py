"""Alerts and dashboard ask for metrics that the scheduler has, and are there only where somebody reads them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilotage.telemetry.attempt_metrics import AttemptMetrics
from pilotage.telemetry.cluster_metrics import ClusterMetrics
from pilotage.telemetry.families import Described
from pilotage.telemetry.plugin_metrics import PluginMetrics
from pilotage.telemetry.queue_metrics import QueueMetrics
from pilotage.telemetry.sharing_metrics import SharingMetrics
from pilotage_operator.metrics import LABELS as OPERATOR_METRICS

Manifest = dict[str, Any]
Render = Callable[..., list[Manifest]]

KINDS = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}
METRIC = re.compile(r"([a-z]\w+)\{([^}]*)\}")
OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


def unknown(expression: str) -> list[str]:
    """The metrics and labels in an expression that the scheduler does not have."""
    parts = (AttemptMetrics, ClusterMetrics, PluginMetrics, QueueMetrics, SharingMetrics)
    labels = {
        family.name: set(family.labels)
        for part in parts
        for family in part().families()
        if isinstance(family, Described)
    }
    labels["pilotage_build_info"] = set()
    labels |= {name: set(own) for name, own in OPERATOR_METRICS.items()}
    problems = []
    for name, matchers in METRIC.findall(expression):
        own = labels.get(name, labels.get(re.sub("_(bucket|sum|count)$", "", name)))
        asked = set(re.findall(r"(\w+)=", matchers)) - {"namespace", "pod"}
        if own is None or not asked <= own:
            problems.append(f"{name}{{{matchers}}}")
    return problems


def of_kind(rendered: list[Manifest], kind: str, component: str = "") -> Manifest:
    (found,) = [each for each in rendered if each["kind"] == kind and each["metadata"]["name"].endswith(component)]
    return found


def alerts(rendered: list[Manifest]) -> dict[str, Manifest]:
    (group,) = of_kind(rendered, "PrometheusRule")["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def dashboard(rendered: list[Manifest]) -> Manifest:
    (found,) = [each for each in rendered if each["metadata"]["name"] == "mine-pilotage-dashboard"]
    (text,) = found["data"].values()
    parsed: Manifest = json.loads(text)
    return parsed


def test_alerts_ask_for_metrics_that_there_are(render: Render) -> None:
    for name, rule in alerts(render("monitoring")).items():
        assert METRIC.search(rule["expr"]), name
        assert unknown(rule["expr"]) == [], name
        assert "@" not in rule["expr"], name


def test_the_dashboard_asks_for_metrics_that_there_are(render: Render) -> None:
    panels = dashboard(render("monitoring"))["panels"]
    for panel in panels:
        for target in panel["targets"]:
            assert METRIC.search(target["expr"]), panel["title"]
            assert unknown(target["expr"]) == [], panel["title"]
            assert "@" not in target["expr"], panel["title"]
    places = [tuple(panel["gridPos"].values()) for panel in panels]
    assert len(places) == len(set(places))


def test_alerts_say_what_to_do_and_the_documentation_lists_them(render_values: Render) -> None:
    found = alerts(render_values({"monitoring": {"prometheusRule": {"enabled": "always"}}}))
    assert all(set(rule["annotations"]) == {"summary", "description"} for rule in found.values())
    listed = re.findall(r"^\| `(Pilotage\w+)` \|", OPERATIONS.read_text(), re.MULTILINE)
    assert listed == list(found)


def test_alerts_can_be_left_out_and_labelled(render: Render) -> None:
    found = alerts(render("monitoring"))
    assert "PilotageSlow" not in found
    assert {rule["labels"]["team"] for rule in found.values()} == {"platform"}
    assert {rule["labels"]["severity"] for rule in found.values()} <= {"critical", "warning", "info"}


def test_without_a_lease_nobody_waits_for_a_leader(render_values: Render) -> None:
    values = {"scheduler": {"leaderElect": False}, "monitoring": {"prometheusRule": {"enabled": "always"}}}
    assert not any("leader_election" in rule["expr"] for rule in alerts(render_values(values)).values())


def test_a_service_monitor_shows_prometheus_own_token(render: Render) -> None:
    rendered = render("monitoring")
    (endpoint,) = of_kind(rendered, "ServiceMonitor", "scheduler")["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["scheme"]) == ("https", "https")
    assert endpoint["bearerTokenFile"] == "/var/run/secrets/kubernetes.io/serviceaccount/token"


@pytest.mark.parametrize("component", ["scheduler", "operator"])
def test_monitors_find_what_there_is(render: Render, component: str) -> None:
    rendered = render("monitoring")
    service = of_kind(rendered, "Service", component)
    monitor = of_kind(rendered, "ServiceMonitor", component)["spec"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}
    pod = of_kind(rendered, "Deployment", component)["spec"]["template"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    pods = of_kind(rendered, "PodMonitor", component)["spec"]
    assert pods["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
    assert pods["podMetricsEndpoints"][0]["port"] in ports


def test_the_operator_serves_where_it_is_looked_for(render: Render) -> None:
    container = of_kind(render("monitoring"), "Deployment", "operator")["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert f"--metrics-port={ports['metrics']}" in container["args"]


def test_without_prometheus_operator_it_has_no_service(render: Render) -> None:
    names = [each["metadata"]["name"] for each in render() if each["kind"] == "Service"]
    assert names == ["mine-pilotage-api", "mine-pilotage-scheduler"]


def test_a_pod_monitor_shows_the_token_of_a_secret(render: Render) -> None:
    (endpoint,) = of_kind(render("monitoring"), "PodMonitor", "scheduler")["spec"]["podMetricsEndpoints"]
    assert endpoint["authorization"] == {"credentials": {"name": "metrics-token", "key": "token"}}


@pytest.mark.parametrize(
    ("flags", "values", "expected"),
    [
        pytest.param([], {}, set(), id="a cluster without Prometheus' operator"),
        pytest.param(
            ["--api-versions=monitoring.coreos.com/v1"],
            {},
            {"ServiceMonitor", "PrometheusRule"},
            id="a cluster with it",
        ),
        pytest.param(
            ["--api-versions=monitoring.coreos.com/v1"],
            {"monitoring": {"serviceMonitor": {"enabled": "never"}, "prometheusRule": {"enabled": "never"}}},
            set(),
            id="unwanted",
        ),
    ],
)
def test_what_is_there_where_it_is_served(
    render_values: Render, flags: list[str], values: Manifest, expected: set[str]
) -> None:
    assert {each["kind"] for each in render_values(values, *flags)} & KINDS == expected


def test_readers_may_read_the_metrics(render: Render) -> None:
    (role, binding) = (
        of_kind([each for each in render("monitoring") if "metrics-reader" in each["metadata"]["name"]], kind)
        for kind in ("ClusterRole", "ClusterRoleBinding")
    )
    assert role["rules"] == [{"nonResourceURLs": ["/metrics", "/metrics/resources", "/metrics/slis"], "verbs": ["get"]}]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "prometheus", "namespace": "monitoring"}]
