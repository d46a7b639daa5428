"""Metrics by name: what they show, what a reset does, and which labels are told."""

from pilotage.telemetry.families import (
    ALPHA,
    Counts,
    Family,
    Gauges,
    Histograms,
    ReadCounts,
    ReadGauges,
    ReadHistograms,
)
from pilotage.telemetry.histograms import Histogram


def samples(family: Family, allowed: dict[str, set[str]] | None = None) -> list[str]:
    """Return the lines of a metric without its header."""
    return [line for line in family.text(allowed or {}).splitlines() if not line.startswith("#")]


def test_a_counter_without_labels_is_there_from_the_start_and_one_with_labels_is_not() -> None:
    assert samples(Counts("a_total", ALPHA, "Help.")) == ["a_total 0"]
    assert Counts("a_total", ALPHA, "Help.", ("x",)).text({}) == ""


def test_a_counter_begins_again_from_zero() -> None:
    counts = Counts("a_total", ALPHA, "Help.", ("x",))
    counts.add(("y",), 2)
    counts.add(("y",))
    assert samples(counts) == ['a_total{x="y"} 3']
    counts.reset()
    counts.add(("y",))
    assert samples(counts) == ['a_total{x="y"} 1']


def test_the_help_begins_with_the_stability() -> None:
    assert Counts("a_total", ALPHA, "Help.").text({}).splitlines()[:2] == [
        "# HELP a_total [ALPHA] Help.",
        "# TYPE a_total counter",
    ]


def test_a_gauge_says_zero_of_what_is_not_named_any_more() -> None:
    gauges = Gauges("a", ALPHA, "Help.", ("x",))
    gauges.put_all({"one": 1, "two": 2})
    gauges.put_all({"two": 3})
    gauges.reset()
    assert samples(gauges) == ['a{x="one"} 0', 'a{x="two"} 3']


def test_a_read_gauge_says_zero_only_where_that_is_wanted() -> None:
    numbers = {("one",): 1.0, ("two",): 2.0}
    lasting = ReadGauges("a", ALPHA, "Help.", ("x",), zero_when_gone=True)
    passing = ReadGauges("a", ALPHA, "Help.", ("x",))
    lasting.read = passing.read = numbers.items
    assert samples(lasting) == samples(passing) == ['a{x="one"} 1', 'a{x="two"} 2']
    del numbers["one",]
    assert samples(lasting) == ['a{x="one"} 0', 'a{x="two"} 2']
    assert samples(passing) == ['a{x="two"} 2']


def test_a_read_counter_begins_again_without_its_keeper_knowing() -> None:
    kept = {("one",): 5.0}
    counts = ReadCounts("a_total", ALPHA, "Help.", ("x",))
    counts.read = kept.items
    counts.reset()
    kept["one",] += 2
    assert samples(counts) == ['a_total{x="one"} 2']


def test_numbers_with_the_same_labels_are_summed() -> None:
    counts = ReadCounts("a_total", ALPHA, "Help.", ("x",))
    counts.read = lambda: [(("one",), 1), (("one",), 2)]
    assert samples(counts) == ['a_total{x="one"} 3']
    counts.reset()
    assert samples(counts) == ['a_total{x="one"} 0']


def test_labels_that_are_not_allowed_are_told_together() -> None:
    counts = Counts("a_total", ALPHA, "Help.", ("x", "y"))
    for labels in (("known", "1"), ("other", "1"), ("another", "1")):
        counts.add(labels)
    assert samples(counts, {"x": {"known"}}) == ['a_total{x="known",y="1"} 1', 'a_total{x="unexpected",y="1"} 2']


def test_histograms_that_are_not_allowed_are_told_together() -> None:
    histograms = Histograms("a", ALPHA, "Help.", (1.0,), ("x",))
    histograms.of(("one",)).observe(0.5)
    histograms.of(("two",)).observe(2)
    assert samples(histograms, {"x": set()}) == [
        'a_bucket{x="unexpected",le="1"} 1',
        'a_bucket{x="unexpected",le="+Inf"} 2',
        'a_sum{x="unexpected"} 2.5',
        'a_count{x="unexpected"} 2',
    ]


def test_a_kept_histogram_goes_on_after_a_reset() -> None:
    histograms = Histograms("a", ALPHA, "Help.", (1.0,))
    kept = histograms.of(())
    kept.observe(0.5)
    histograms.reset()
    kept.observe(0.25)
    assert samples(histograms)[-2:] == ["a_sum 0.25", "a_count 1"]


def test_histograms_of_somebody_else_begin_again_too() -> None:
    kept = Histogram((1.0,))
    kept.observe(1)
    histograms = ReadHistograms("a", ALPHA, "Help.")
    histograms.read = lambda: [((), kept)]
    assert samples(histograms)[-1] == "a_count 1"
    histograms.reset()
    assert samples(histograms)[-1] == "a_count 0"
