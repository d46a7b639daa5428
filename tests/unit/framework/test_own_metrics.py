"""Counters and histograms of a plugin's own."""

import pytest

from pilotage.framework.api.own_metrics import MOST_METRICS, MOST_SERIES, MetricStore, OwnMetrics
from pilotage.telemetry.metrics import Metrics


def text(store: MetricStore) -> str:
    return "".join(each.text({}) for each in store)


def test_they_are_named_after_the_plugin_and_carry_the_profile() -> None:
    store = MetricStore()
    metrics = OwnMetrics("RackPower", "batch", store)
    metrics.counter("writes_total", "Annotations written.", ("result",)).add("ok", amount=2)
    metrics.histogram("wait_seconds", "Waits.", bounds=(1.0, 2.0)).observe(1.5)
    assert 'pilotage_plugins_rack_power_writes_total{profile="batch",result="ok"} 2' in text(store)
    assert 'pilotage_plugins_rack_power_wait_seconds_bucket{profile="batch",le="2"} 1' in text(store)
    assert "# HELP pilotage_plugins_rack_power_writes_total [ALPHA] Annotations written." in text(store)


def test_the_scheduler_tells_them_unless_they_are_disabled() -> None:
    store = MetricStore()
    OwnMetrics("A", "p", store).counter("seen_total", "Seen.").add()
    OwnMetrics("A", "p", store).counter("more_total", "More.").add()
    metrics = Metrics(disabled=["pilotage_plugins_a_more_total"])
    metrics.of_plugins = store
    assert b'pilotage_plugins_a_seen_total{profile="p"} 1' in metrics.text()
    assert b"more_total" not in metrics.text()
    metrics.reset()
    assert b"seen_total{" not in metrics.text()


def test_a_plugin_that_comes_back_goes_on_counting() -> None:
    store = MetricStore()
    for profile in ("batch", "batch", "web"):
        OwnMetrics("A", profile, store).counter("seen_total", "Seen.").add()
    assert 'seen_total{profile="batch"} 2' in text(store)
    assert 'seen_total{profile="web"} 1' in text(store)


def test_there_are_so_many_series_at_the_most() -> None:
    store = MetricStore()
    counter = OwnMetrics("A", "p", store).counter("seen_total", "Seen.", ("pod",))
    for number in range(MOST_SERIES + 50):
        counter.add(f"p{number}")
    assert text(store).count("seen_total{") == MOST_SERIES + 1
    assert 'pod="other"} 50' in text(store)


def test_there_are_so_many_metrics_at_the_most() -> None:
    metrics = OwnMetrics("A", "p")
    for number in range(MOST_METRICS):
        metrics.counter(f"c{number}_total", "A count.")
    with pytest.raises(ValueError, match="A already has 20 metrics"):
        metrics.counter("one_more_total", "A count.")


@pytest.mark.parametrize("name", ["", "Seen", "a-b", "9a", "x" * 61])
def test_a_name_is_snake_case(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid metric name"):
        OwnMetrics("A", "p").counter(name, "A count.")


def test_all_labels_must_be_given() -> None:
    with pytest.raises(ValueError, match="the metric has 1 labels, and 0 were given"):
        OwnMetrics("A", "p").counter("seen_total", "Seen.", ("pod",)).add()
