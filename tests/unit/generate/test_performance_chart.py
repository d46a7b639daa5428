"""The chart of docs/performance.md: what it takes from the tables, and what it leaves."""

import pytest

from bench.live.chart import TIMES
from generate import performance_chart

HEADER = "| workload | nodes | pods | pods/s | scheduler's CPU | all CPU |\n| --- | --- | --- | --- | --- | --- |\n"
VERSION = "2026-11-17; Kubernetes v1.37.1, etcd v3.7.3.\n\n"


def row(workload: str, nodes: str, ratio: str) -> str:
    return f"| {workload} | {nodes} | 2,000 | {ratio} | 0.31{TIMES} | 0.70{TIMES} |\n"


@pytest.mark.parametrize(
    ("table", "drawn"),
    [
        pytest.param(
            HEADER + row("SchedulingBasic", "1,000", f"2.20{TIMES}") + row("Unschedulable", "1,000", f"2.84{TIMES}"),
            [("SchedulingBasic, 1,000 nodes", 2.2), ("Unschedulable, 1,000 nodes", 2.84)],
            id="every workload at a thousand nodes, in the page's order",
        ),
        pytest.param(
            HEADER + row("SchedulingBasic", "65,000", f"11.00{TIMES}") + row("Unschedulable", "5,000", f"2.97{TIMES}"),
            [("SchedulingBasic, 65,000 nodes", 11.0)],
            id="one workload at every size",
        ),
        pytest.param(
            HEADER
            + row("SchedulingBasic", "1,000", f"2.20{TIMES}")
            + "\n"
            + HEADER.replace("pods |", "preemptors |", 1)
            + row("PreemptionBasic", "1,000", f"6.16{TIMES}"),
            [("SchedulingBasic, 1,000 nodes", 2.2)],
            id="no other table",
        ),
        pytest.param(HEADER + row("SchedulingBasic", "1,000", "480"), [], id="no figure that is no ratio"),
    ],
)
def test_what_is_drawn(table: str, drawn: list[tuple[str, float]]) -> None:
    assert list(performance_chart.ratios(table)) == drawn


def test_the_chart_says_what_was_measured() -> None:
    text = performance_chart.drawn(VERSION + HEADER + row("SchedulingBasic", "1,000", f"2.20{TIMES}"))
    assert "Pods per second, pilotage / kube-scheduler v1.37.1" in text
    assert f"2.20{TIMES}" in text
