"""What a run found, for people and for machines."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

import msgspec

from bench.live.chart import TIMES
from bench.live.machine import Machine
from bench.live.rounds import Round
from bench.live.scheduler import SCHEDULER

RIVAL = "kube-scheduler"
UNKNOWN = "-"
Figure = Callable[[Round], float | None]


@dataclass
class Comparison:
    """All rounds of one workload at one size."""

    case: str
    workload: str  # upstream's name of it
    nodes: int
    pods: int
    derived: bool  # upstream has none of this size
    scale: float = 1.0
    threshold: float | None = None
    rounds: list[Round] = field(default_factory=list)
    paced: list[Round] = field(default_factory=list)  # in an open loop: what a pod waits

    @property
    def title(self) -> str:
        """How a person names it."""
        return f"{self.case}, {self.nodes:,} nodes"

    def figure(self, contestant: str, figure: Figure, *, paced: bool = False) -> float | None:
        """The median of a figure over a contestant's rounds."""
        rounds = self.paced if paced else self.rounds
        values = [figure(one) for one in rounds if one.contestant == contestant and not one.problem]
        known = [value for value in values if value is not None]
        return median(known) if known else None

    def ratio(self, contestant: str, figure: Figure, *, paced: bool = False) -> float | None:
        """A contestant's figure as a multiple of kube-scheduler's."""
        own, rival = (self.figure(name, figure, paced=paced) for name in (contestant, RIVAL))
        return own / rival if own is not None and rival else None


@dataclass
class Report:
    """One run."""

    date: str
    machine: Machine
    versions: dict[str, str]
    command: str
    mode: str
    contestants: list[str]
    comparisons: list[Comparison] = field(default_factory=list)

    def text(self) -> str:
        """All of it as Markdown."""
        parts = [self._head(), *self._ratios(), self._figures(), self._notes()]
        return "\n\n".join(part for part in parts if part)

    def json(self) -> bytes:
        """Everything that was measured."""
        return msgspec.json.format(msgspec.json.encode(asdict(self)), indent=1)

    def _head(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return f"{self.date}, {self.machine.text()}\n{versions}\nMode {self.mode}: `{self.command}`"

    def _ratios(self) -> Iterable[str]:
        others = [name for name in self.contestants if name != RIVAL]
        return (self._ratios_of(name) for name in others if RIVAL in self.contestants)

    def _ratios_of(self, name: str) -> str:
        header = [
            "workload",
            "nodes",
            "pods",
            "pods/s",
            "scheduler's CPU",
            "all CPU",
            "peak memory",
            "p50",
            "p99",
            "whole gang",
            "until all are bound",
        ]
        rows = []
        for one in self.comparisons:
            ratios = [one.ratio(name, figure) for figure in (throughput, own_cpu, all_cpu, memory)]
            ratios += [one.ratio(name, figure, paced=True) for figure in (p50, p99)]
            ratios += [one.ratio(name, figure) for figure in (whole, until_all)]
            rows.append([one.case, f"{one.nodes:,}", f"{one.pods:,}", *(_number(ratio, TIMES, 2) for ratio in ratios)])
        return f"{name} / {RIVAL}\n\n{_only_filled(header, rows)}"

    def _figures(self) -> str:
        header = ["workload", "nodes", "pods", "who", "pods/s", "first to last", "scheduler ms/pod"]
        header += ["API server ms/pod", "etcd ms/pod", "peak MiB", "at pods/s", "p50 ms", "p99 ms", "whole gang ms"]
        header += ["until all are bound s", "pods that left"]
        rows = [self._row(one, name) for one in self.comparisons for name in self.contestants]
        return _only_filled(header, rows)

    def _row(self, one: Comparison, name: str) -> list[str]:
        figures = [
            (one.figure(name, throughput), 0),
            (one.figure(name, lambda found: found.overall), 0),
            (one.figure(name, own_cpu), 2),
            (one.figure(name, cpu_of("kube-apiserver")), 2),
            (one.figure(name, cpu_of("etcd")), 2),
            (one.figure(name, memory), 0),
            (one.figure(name, lambda found: found.rate, paced=True), 0),
            (one.figure(name, p50, paced=True), 1),
            (one.figure(name, p99, paced=True), 1),
            (one.figure(name, whole), 0),
            (one.figure(name, until_all), 1),
            (one.figure(name, lambda found: found.left or None), 0),
        ]
        head = [one.case, f"{one.nodes:,}", f"{one.pods:,}", name]
        return head + [_number(value, "", digits) for value, digits in figures]

    def _notes(self) -> str:
        notes = []
        if self.machine.is_busy:
            notes.append(f"The machine was busy before the run began: load {self.machine.load:.1f}; trust no figure.")
        for one in self.comparisons:
            if one.derived:
                notes.append(f"{one.title}: from {one.workload}, with every number made smaller or larger.")
            for found in one.rounds + one.paced:
                notes += [f"{one.title}, {found.contestant}: {fault}." for fault in found.faults]
        return "\n".join(f"- {note}" for note in dict.fromkeys(notes))


def throughput(found: Round) -> float | None:
    """Pods per second."""
    return found.throughput


def own_cpu(found: Round) -> float | None:
    """Milliseconds of CPU per pod in the scheduler."""
    return found.cpu.get(SCHEDULER)


def all_cpu(found: Round) -> float | None:
    """Milliseconds of CPU per pod in scheduler, API server and etcd."""
    return sum(found.cpu.values()) or None


def cpu_of(program: str) -> Figure:
    """Milliseconds of CPU per pod in one program."""
    return lambda found: found.cpu.get(program)


def memory(found: Round) -> float | None:
    """The most MiB that the scheduler had."""
    return found.peak_memory / (1 << 20) or None


def p50(found: Round) -> float | None:
    """What half of all pods wait at most, in milliseconds."""
    return found.p50


def p99(found: Round) -> float | None:
    """What nearly all pods wait at most, in milliseconds."""
    return found.p99


def whole(found: Round) -> float | None:
    """Milliseconds from the last pod of a gang that was created to the last that was bound."""
    return found.whole


def until_all(found: Round) -> float | None:
    """Seconds from the first pod that was created to the last that was bound."""
    return found.until_all


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that reads well as text and as Markdown."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    ruler = ["-" * width for width in widths]
    lines = [header, ruler, *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def _only_filled(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table without the columns in which nothing was measured."""
    filled = [place for place in range(len(header)) if any(row[place] != UNKNOWN for row in rows)]
    return table([header[place] for place in filled], [[row[place] for place in filled] for row in rows])


def _number(value: float | None, unit: str, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:,.{digits}f}{unit}"
