"""Every metric has the name, type, labels and buckets that kube-scheduler gives it, and the numbers that it should."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from pilotage.telemetry.histograms import PLUGIN_BOUNDS, POINT_BOUNDS, Histogram, exponential
from pilotage.telemetry.metrics import Build, Metrics
from pilotage.telemetry.resource_metrics import resource_metrics
from pilotage.testing import make_pod

SEEN: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("kube_scheduler_metrics.yaml").read_text())

# What kube-scheduler does and we do not: hints that one pod's nodes give for the next.
NOT_OURS = {
    "scheduler_batch_attempts_total",
    "scheduler_batch_cache_flushed_total",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
}


class Timed:
    """What a runner has counted."""

    def __init__(self) -> None:
        self.execution, self.point = Histogram(PLUGIN_BOUNDS), Histogram(POINT_BOUNDS)
        self.execution.observe(0.002)
        self.point.observe(0.01)

    def calls(self) -> Iterable[tuple[str, str, int]]:
        return [("Fit", "Filter", 3), ("Fit", "Filter", 1), ("Fit", "Reserve", 5)]

    def durations(self) -> Iterable[tuple[str, str, str, Histogram]]:
        return [("Fit", "Normalize", "Success", self.execution)]

    def points(self) -> Iterable[tuple[str, str, Histogram]]:
        return [("Filter", "Success", self.point)]


def filled(**options: Any) -> Metrics:
    """Return metrics each of which has at least one sample."""
    metrics = Metrics(Build("0.1.0", "abc", "v1.37.1"), **options)
    push_all(metrics)
    metrics.read_queue(
        pending=lambda: {"active": 1, "backoff": 2, "unschedulable": 3, "gated": 4},
        incoming=lambda: {("active", "UnscheduledPodAdd"): 7},
        in_flight=lambda: {"PodPopped": 1},
        rejections=lambda: {("Fit", "default-scheduler"): 3},
    )
    metrics.read_cache(lambda: {"nodes": 5, "pods": 6, "assumed_pods": 1})
    timed = Timed()
    metrics.read_plugins(lambda: {"default-scheduler": timed, "other": timed})
    metrics.read_leadership("pilotage", lambda: True)
    metrics.read_tasks(lambda: {"binding": 2})
    metrics.read_load(lambda: {"metrics.k8s.io": 12.5}, lambda: {"metrics.k8s.io": 1})
    metrics.read_watches(lambda: {"pods": 0.5}, lambda: {"pods": 2}, lambda: {"pods": 1})
    metrics.read_events(waiting=lambda: 3, dropped=lambda: 4)
    metrics.read_api(streams=lambda: 2, dropped=lambda: 1, cpu=lambda: 0.5, longest=lambda: 0.001)
    metrics.read_configuration(running=lambda: "0a1b", swaps=lambda: 5, refusals=lambda: 6)
    return metrics


def push_all(metrics: Metrics) -> None:
    """Count everything once."""
    metrics.slice_ended(0.004)
    metrics.slowed_down("default-scheduler")
    metrics.attempt("scheduled", "default-scheduler", 0.003)
    metrics.algorithm(0.001)
    metrics.scheduled(2, 0.5, after_flush=True)
    metrics.preemption_attempt()
    metrics.preempted(3)
    metrics.evicted("success")
    metrics.permit_waited("Success", 1.5)
    metrics.event_handled("NodeAdd", 0.0001)
    metrics.hint_asked("Fit", "NodeAdd", "Queue", 0.00002)
    metrics.plugin_failed("Fit")
    metrics.requests_to("127.0.0.1:6443")("POST", "201", 0.01)
    metrics.compared({"pods": 1})
    metrics.bound("bound")
    metrics.api_asked("/queue", 200, 0.01)
    metrics.api_asked("/events", 200, None)


def families(text: str) -> dict[str, Metric]:
    """Return what a text of metrics says, by name."""
    found = text_string_to_metric_families(text)
    return {f"{each.name}_total" if each.type == "counter" else each.name: each for each in found}


def shape(found: Metric) -> dict[str, Any]:
    """Return stability, type, labels and buckets of a metric."""
    stability = found.documentation.partition("]")[0].removeprefix("[")
    labels = sorted({label for sample in found.samples for label in sample.labels} - {"le"})
    buckets = list(dict.fromkeys(sample.labels["le"] for sample in found.samples if "le" in sample.labels))
    told: dict[str, Any] = {"stability": stability, "type": found.type, "labels": labels}
    return told | ({"buckets": buckets} if buckets else {})


def value(metrics: Metrics, line: str) -> str:
    """Return the number of one sample."""
    [found] = [text for text in metrics.text().decode().splitlines() if text.rpartition(" ")[0] == line]
    return found.rpartition(" ")[2]


@pytest.fixture(scope="module")
def ours() -> dict[str, Metric]:
    """Return all our metrics."""
    resources = "".join(resource_metrics([make_pod("p", cpu=1, limits={"cpu": 1})]))
    return families(filled().text().decode() + resources)


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in SEEN if name not in NOT_OURS])
def test_a_metric_looks_as_that_of_the_real_scheduler(ours: dict[str, Metric], name: str) -> None:
    assert shape(ours[name]) == SEEN[name]


def test_nothing_stable_or_beta_is_left_out() -> None:
    assert {SEEN[name]["stability"] for name in NOT_OURS} == {"ALPHA"}


def test_the_metrics_that_the_real_scheduler_shows_only_at_times(ours: dict[str, Metric]) -> None:
    assert shape(ours["scheduler_permit_wait_duration_seconds"]) == {
        "stability": "BETA",
        "type": "histogram",
        "labels": ["result"],
        "buckets": [f"{bound:g}" for bound in (0.001 * 2**n for n in range(14))] + ["16.384", "+Inf"],
    }
    assert shape(ours["leader_election_master_status"]) == {"stability": "ALPHA", "type": "gauge", "labels": ["name"]}


def test_all_that_kube_scheduler_does_not_have_is_marked_as_ours(ours: dict[str, Metric]) -> None:
    general = ("python_", "process_", "leader_election_", "scheduler_permit_wait_")
    assert {name for name in ours if name not in SEEN and not name.startswith(general)} == {
        "pilotage_api_cpu_seconds_total",
        "pilotage_api_longest_slice_seconds",
        "pilotage_api_request_duration_seconds",
        "pilotage_api_requests_total",
        "pilotage_api_streams",
        "pilotage_api_streams_dropped_total",
        "pilotage_binds_total",
        "pilotage_build_info",
        "pilotage_cache_comparisons_total",
        "pilotage_cache_differences",
        "pilotage_config_info",
        "pilotage_config_refusals_total",
        "pilotage_config_swaps_total",
        "pilotage_events_dropped_total",
        "pilotage_events_waiting",
        "pilotage_load_metrics_age_seconds",
        "pilotage_load_metrics_healthy",
        "pilotage_loop_slice_duration_seconds",
        "pilotage_plugin_failures_total",
        "pilotage_slowed_down_attempts_total",
        "pilotage_watch_errors_total",
        "pilotage_watch_lists_total",
        "pilotage_watch_silence_seconds",
    }


def test_every_metric_is_there_once() -> None:
    names = [line.split()[2] for line in filled().text().decode().splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ('scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"}', "1"),
        ("scheduler_scheduling_algorithm_duration_seconds_count", "1"),
        ('scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="2"}', "0.5"),
        ("scheduler_pod_scheduling_attempts_sum", "2"),
        ("scheduler_pod_scheduled_after_flush_total", "1"),
        ("scheduler_preemption_attempts_total", "1"),
        ("pilotage_loop_slice_duration_seconds_sum", "0.004"),
        ('pilotage_slowed_down_attempts_total{profile="default-scheduler"}', "1"),
        ("scheduler_preemption_victims_sum", "3"),
        ('scheduler_preemption_goroutines_execution_total{result="success"}', "1"),
        ('scheduler_permit_wait_duration_seconds_sum{result="Success"}', "1.5"),
        ('scheduler_event_handling_duration_seconds_bucket{event="NodeAdd",le="0.0001"}', "1"),
        ('scheduler_pending_pods{queue="gated"}', "4"),
        ('scheduler_pending_pods{queue="incomplete"}', "0"),
        ('scheduler_queued_entities{queue="backoff",type="pod"}', "2"),
        ('scheduler_queue_incoming_pods_total{queue="active",event="UnscheduledPodAdd"}', "7"),
        ('scheduler_queue_incoming_entities_total{queue="active",event="UnscheduledPodAdd",type="pod"}', "7"),
        ('scheduler_inflight_events{event="PodPopped"}', "1"),
        ('scheduler_unschedulable_pods{plugin="Fit",profile="default-scheduler"}', "3"),
        ('scheduler_cache_size{type="assumed_pods"}', "1"),
        ('scheduler_goroutines{operation="binding"}', "2"),
        ('scheduler_plugin_evaluation_total{plugin="Fit",extension_point="Filter",profile="other"}', "4"),
        (
            'scheduler_plugin_execution_duration_seconds_count{plugin="Fit",'
            'extension_point="ScoreExtensionNormalize",status="Success"}',
            "2",
        ),
        (
            'scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter",'
            'status="Success",profile="other"}',
            "1",
        ),
        ('rest_client_requests_total{code="201",method="POST",host="127.0.0.1:6443"}', "1"),
        ('leader_election_master_status{name="pilotage"}', "1"),
        ('pilotage_api_requests_total{path="/queue",code="200"}', "1"),
        ('pilotage_api_requests_total{path="/events",code="200"}', "1"),
        ('pilotage_api_request_duration_seconds_count{path="/queue"}', "1"),
        ("pilotage_api_streams", "2"),
        ("pilotage_api_streams_dropped_total", "1"),
        ("pilotage_api_cpu_seconds_total", "0.5"),
        ("pilotage_api_longest_slice_seconds", "0.001"),
        ('pilotage_cache_differences{kind="pods"}', "1"),
        ("pilotage_cache_comparisons_total", "1"),
        ('pilotage_watch_silence_seconds{resource="pods"}', "0.5"),
        ('pilotage_watch_errors_total{resource="pods"}', "1"),
        ('pilotage_watch_lists_total{resource="pods"}', "2"),
        ('pilotage_binds_total{result="bound"}', "1"),
        ('pilotage_config_info{hash="0a1b"}', "1"),
        ("pilotage_config_swaps_total", "5"),
        ("pilotage_config_refusals_total", "6"),
        ('pilotage_load_metrics_age_seconds{source="metrics.k8s.io"}', "12.5"),
        ('pilotage_load_metrics_healthy{source="metrics.k8s.io"}', "1"),
        ("pilotage_events_waiting", "3"),
        ("pilotage_events_dropped_total", "4"),
        ('pilotage_plugin_failures_total{plugin="Fit"}', "1"),
    ],
)
def test_what_was_counted_is_told(line: str, number: str) -> None:
    assert value(filled(), line) == number


@pytest.mark.parametrize(
    ("attempts", "label"),
    [
        pytest.param(1, "1", id="the first attempt"),
        pytest.param(14, "14", id="the last that is told apart"),
        pytest.param(15, "15+", id="many"),
        pytest.param(400, "15+", id="very many"),
    ],
)
def test_many_attempts_share_a_label(attempts: int, label: str) -> None:
    metrics = Metrics()
    metrics.scheduled(attempts, 0.5)
    assert value(metrics, f'scheduler_pod_scheduling_sli_duration_seconds_count{{attempts="{label}"}}') == "1"


def test_a_pod_that_nobody_saw_become_ready_has_attempts_but_no_time() -> None:
    metrics = Metrics()
    metrics.scheduled(1, None)
    assert value(metrics, "scheduler_pod_scheduling_attempts_count") == "1"
    assert b"sli_duration" not in metrics.text()


def test_counters_begin_again_and_gauges_stay() -> None:
    metrics = filled()
    metrics.reset()
    assert value(metrics, "scheduler_pod_scheduling_attempts_count") == "0"
    assert value(metrics, 'scheduler_queue_incoming_pods_total{queue="active",event="UnscheduledPodAdd"}') == "0"
    assert value(metrics, 'scheduler_pending_pods{queue="gated"}') == "4"
    assert b"scheduler_schedule_attempts_total" not in metrics.text()
    metrics.attempt("error", "default-scheduler", 0.1)
    assert value(metrics, 'scheduler_schedule_attempts_total{result="error",profile="default-scheduler"}') == "1"


def test_a_source_that_breaks_costs_one_metric(caplog: pytest.LogCaptureFixture) -> None:
    metrics = filled()
    metrics.read_cache(lambda: {"nodes": 1 // 0})
    text = metrics.text()
    assert b"scheduler_cache_size" not in text
    assert b"scheduler_pending_pods" in text
    assert "cannot read the metric scheduler_cache_size" in caplog.text


def test_a_disabled_metric_is_counted_for_nobody() -> None:
    text = filled(disabled={"scheduler_schedule_attempts_total"}).text()
    assert b"scheduler_schedule_attempts_total" not in text
    assert b"scheduler_scheduling_attempt_duration_seconds" in text


def test_only_allowed_labels_are_told() -> None:
    metrics = filled(allowed={"scheduler_plugin_evaluation_total": {"profile": {"other"}}})
    line = 'scheduler_plugin_evaluation_total{{plugin="Fit",extension_point="Filter",profile="{}"}}'
    assert value(metrics, line.format("other")) == value(metrics, line.format("unexpected")) == "4"


def test_two_of_them_share_nothing() -> None:
    one, other = Metrics(), Metrics()
    one.bound("bound")
    assert b"pilotage_binds_total{" not in other.text()


def test_the_release_that_it_behaves_like_is_told_only_if_it_is_known() -> None:
    assert b'git_version="v1.37.1"' in filled().text()
    assert b'major="1",minor="37"' in filled().text()
    assert b"kubernetes_build_info" not in Metrics().text()


def test_the_buckets_of_the_specification() -> None:
    assert exponential(1, 2, 5) == (1, 2, 4, 8, 16)
    assert (len(PLUGIN_BOUNDS), len(POINT_BOUNDS)) == (20, 12)
