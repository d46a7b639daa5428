"""docs/performance.svg: the ratios of the tables in docs/performance.md as a chart."""

import re
from collections.abc import Iterator

from bench.live import chart
from localcluster.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "performance.md"
# All workloads at one size, and one of them at all sizes.
SIZE, WORKLOAD = "1,000", "SchedulingBasic"
_TABLE = re.compile(
    r"^\| workload \| nodes \| pods \| pods/s \| scheduler's CPU \|.*\n\|[- |]+\n((?:\|.*\n)+)", re.MULTILINE
)
_ROW = re.compile(rf"^\| (\w+) \| ([\d,]+) \| [\d,]+ \| ([\d.]+){chart.TIMES} \|", re.MULTILINE)


def text() -> str:
    """Return the whole chart."""
    return drawn(PAGE.read_text(encoding="utf-8"))


def drawn(page: str) -> str:
    """Return the chart of a page."""
    version = re.search(r"Kubernetes (v[\d.]+\d)", page)
    assert version, f"{PAGE} does not say which kube-scheduler was measured"
    title = f"Pods per second, pilotage / kube-scheduler {version[1]}"
    return chart.bars(
        title, "On two cores; docs/performance.md says how and when each was measured", list(ratios(page))
    )


def ratios(page: str) -> Iterator[tuple[str, float]]:
    """Yield each bar's label and length."""
    for table in _TABLE.findall(page):
        for workload, nodes, ratio in _ROW.findall(table):
            if nodes == SIZE or workload == WORKLOAD:
                yield f"{workload}, {nodes} nodes", float(ratio)
