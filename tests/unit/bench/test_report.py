"""What a run found, told."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from bench.live import chart
from bench.live.contestants import complete, named
from bench.live.machine import Machine, processor
from bench.live.report import Comparison, Report, throughput, until_all
from bench.live.rounds import Round
from bench.live.run import open_loop_rate
from localcluster.errors import Problem


def _round(who: str, rate: float, **more: object) -> Round:
    cpu = {"scheduler": 3.0, "kube-apiserver": 2.0, "etcd": 1.0}
    known: dict[str, object] = {"bound": 100, "events": 100, "overall": rate, "cpu": cpu, "peak_memory": 64 << 20}
    return Round(who, 100, **(known | more))  # type: ignore[arg-type]


def _report(*rounds: Round, load: float = 0.1) -> Report:
    comparison = Comparison("Basic", "5000Nodes", 5000, 100, derived=False, rounds=list(rounds))
    machine = Machine(2, 8 << 30, "a processor", load)
    names = list(dict.fromkeys(found.contestant for found in rounds))
    return Report("2026-01-02", machine, {"Kubernetes": "v1"}, "bench", "concurrent", names, [comparison])


def test_ratios_are_of_medians_and_failed_rounds_do_not_count() -> None:
    rounds = [_round("kube-scheduler", rate) for rate in (90, 100, 500)]
    rounds += [_round("pilotage", 300), Round("pilotage", 100, problem="it fell over")]
    report = _report(*rounds)
    assert report.comparisons[0].ratio("pilotage", throughput) == 3.0
    text = report.text()
    assert "pilotage / kube-scheduler" in text
    assert f"3.00{chart.TIMES}" in text
    assert "- Basic, 5,000 nodes, pilotage: it fell over." in text


def test_upstreams_average_comes_before_the_overall_figure() -> None:
    assert _round("a", 100, average=80.0).throughput == 80.0
    assert _round("a", 100).throughput == 100


def test_evictions_are_compared_by_when_all_is_done() -> None:
    """Whoever evicts everybody first and binds all at once then has a high rate, and may be the slower one."""
    report = _report(_round("kube-scheduler", 500, until_all=50.0), _round("pilotage", 50, until_all=20.0))
    assert report.comparisons[0].ratio("pilotage", until_all) == 0.4
    assert f"0.40{chart.TIMES}" in report.text()


def test_only_what_was_measured_has_a_column() -> None:
    text = _report(_round("kube-scheduler", 500, left=70), _round("pilotage", 50, left=40)).text()
    assert "pods that left" in text
    assert "until all are bound" not in text
    assert "pods that left" not in _report(_round("pilotage", 50)).text()


def test_without_the_rival_there_are_figures_and_no_ratios() -> None:
    text = _report(_round("ceiling", 250)).text()
    assert "| ceiling | 250 " in text
    assert chart.TIMES not in text


@pytest.mark.parametrize(
    ("found", "faults"),
    [
        pytest.param(_round("a", 1), [], id="all is well"),
        pytest.param(_round("a", 1, bound=90, events=90), ["10 of 100 pods were not bound"], id="pods wait"),
        pytest.param(_round("a", 1, events=97), ["3 of 100 events were dropped"], id="events were dropped"),
        pytest.param(Round("a", 100, problem="boom"), ["boom"], id="nothing was measured"),
    ],
)
def test_faults(found: Round, faults: list[str]) -> None:
    assert found.faults == faults


def test_a_busy_machine_is_told() -> None:
    assert "The machine was busy" in _report(_round("a", 1), load=3.0).text()
    assert "The machine was busy" not in _report(_round("a", 1)).text()


def test_json_keeps_everything() -> None:
    report = _report(_round("pilotage", 300, samples=[1.0, 2.0]), _round("kube-scheduler", 100, problem="it fell over"))
    assert msgspec.convert(json.loads(report.json()), Report) == report


def test_the_open_loop_runs_at_half_of_what_the_slower_one_can_do() -> None:
    comparison = _report(_round("a", 100), _round("b", 60)).comparisons[0]
    assert open_loop_rate(comparison, ["a", "b"]) == 30
    assert open_loop_rate(comparison, ["a", "nobody"]) is None


def test_a_chart_is_valid_has_a_bar_for_each_ratio_and_dark_colours() -> None:
    drawn = chart.bars("A < B", "on a machine", [("one & only", 4.0), ("slow", 0.5)])
    root = ET.fromstring(drawn)  # noqa: S314 - our own
    space = "{http://www.w3.org/2000/svg}"
    bars = [(bar.get("class"), float(bar.get("width", 0))) for bar in root.iter(f"{space}rect")]
    assert [kind for kind, _ in bars] == ["more", "less"]
    assert bars[0][1] == pytest.approx(8 * bars[1][1], rel=0.01)
    words = [text.text for text in root.iter(f"{space}text")]
    assert words == ["A < B", "on a machine", "one & only", f"4.00{chart.TIMES}", "slow", f"0.50{chart.TIMES}"]
    assert "prefers-color-scheme: dark" in drawn


def test_every_contestant_gets_the_same_configuration() -> None:
    whole = complete({"profiles": [{"schedulerName": "x"}]}, Path("/k"))
    assert whole["clientConnection"] == {"kubeconfig": "/k", "qps": 5000, "burst": 5000}
    assert whole["leaderElection"] == {"leaderElect": False}
    assert whole["profiles"] == [{"schedulerName": "x"}]
    assert [one.name for one in named("ceiling,kube-scheduler")] == ["ceiling", "kube-scheduler"]
    with pytest.raises(Problem, match="choose from"):
        named("nobody")


def test_the_processor_has_a_name_or_at_least_a_kind() -> None:
    assert processor("vendor: x\nmodel name\t: Fine  Chip 3000\nflags: y\n") == "Fine Chip 3000"
    assert processor("") != ""
