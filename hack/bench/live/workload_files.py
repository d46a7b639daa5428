"""Reads upstream's descriptions of workloads; what we cannot do is refused with the reason."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bench.live.operations import (
    AllocateClaims,
    Barrier,
    Churn,
    Count,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    DeletePods,
    Operation,
    Sleep,
    StartMeasuring,
    StopMeasuring,
    Template,
)
from localcluster.errors import Problem

Document = dict[str, Any]


class Unsupported(Exception):
    """This workload asks for something that we do not do."""


@dataclass(frozen=True)
class Workload:
    """One workload of one test case, ready to be played."""

    case: str
    name: str
    operations: tuple[Operation, ...]
    labels: frozenset[str] = frozenset()
    threshold: float | None = None  # pods per second that upstream demands on its own machines
    gates: dict[str, bool] = field(default_factory=dict)
    configuration: Document = field(default_factory=dict)  # of the scheduler
    extended: Document = field(default_factory=dict)  # instead, of one with plugins that kube-scheduler does not have

    @property
    def title(self) -> str:
        """How a person names it."""
        return f"{self.case}/{self.name}"


@dataclass(frozen=True)
class Refusal:
    """A workload that we cannot play, and why."""

    title: str
    reason: str


def read(paths: list[Path]) -> tuple[list[Workload], list[Refusal]]:
    """All workloads of these files, and those that we cannot play."""
    workloads: list[Workload] = []
    refusals: list[Refusal] = []
    for path in paths:
        for case in _cases(path):
            for entry in case["workloads"]:
                try:
                    workloads.append(_workload(path.parent, case, entry))
                except Unsupported as reason:
                    refusals.append(Refusal(f"{case['name']}/{entry['name']}", str(reason)))
    return workloads, refusals


def _cases(path: Path) -> list[Document]:
    try:
        cases = yaml.safe_load(path.read_text())
        if all(case["name"] and case["workloads"] and case["workloadTemplate"] for case in cases):
            return list(cases)
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise Problem(f"{path} is not a list of test cases with workloads: {error}") from error
    raise Problem(f"{path}: a test case has no name, no workloads or no workloadTemplate")


def _workload(folder: Path, case: Document, entry: Document) -> Workload:
    reader = _Reader(folder, entry.get("params") or {}, case.get("defaultPodTemplatePath"))
    threshold = entry.get("threshold")
    if isinstance(threshold, dict):  # for runs with a label, of which there is one
        threshold = next(iter(threshold.values()), None)
    return Workload(
        case["name"],
        entry["name"],
        tuple(reader.operation(step) for step in case["workloadTemplate"]),
        frozenset(entry.get("labels") or ()),
        threshold if isinstance(threshold, int | float) else None,
        (case.get("featureGates") or {}) | (entry.get("featureGates") or {}),
        _document(folder, case.get("schedulerConfigPath")),
        _document(folder, case.get("extendedConfigPath")),
    )


def _document(folder: Path, path: str | None) -> Document:
    return yaml.safe_load((folder / path).read_text()) if path else {}


class _Step:
    """One step of a workload; what was not asked for by the end is something that we do not know."""

    def __init__(self, content: Document) -> None:
        self.opcode = content.get("opcode", "")
        self._left = {key: value for key, value in content.items() if key != "opcode" and value is not None}

    def take(self, key: str, default: Any = None) -> Any:
        return self._left.pop(key, default)

    def check_empty(self) -> None:
        if self._left:
            raise Unsupported(f"{self.opcode}: {', '.join(sorted(self._left))}")


class _Reader:
    def __init__(self, folder: Path, parameters: Document, pod_template: str | None) -> None:
        self._folder = folder
        self._parameters = parameters
        self._pod_template = pod_template

    def operation(self, content: Document) -> Operation:
        step = _Step(content)
        read_step = _READERS.get(step.opcode)
        if read_step is None:
            raise Unsupported(f"opcode {step.opcode}")
        operation = read_step(self, step)
        step.check_empty()
        return operation

    def nodes(self, step: _Step) -> CreateNodes:
        in_turn = step.take("labelNodePrepareStrategy", {})
        unique = step.take("uniqueNodeLabelStrategy", {})
        room = step.take("nodeAllocatableStrategy", {})
        return CreateNodes(
            self._count(step),
            self._template(step, "nodeTemplatePath"),
            in_turn.get("labelKey") or unique.get("labelKey", ""),
            tuple(in_turn.get("labelValues", ())),
            room.get("nodeAllocatable", {}),
            room.get("csiNodeAllocatable", {}),
            tuple(room.get("migratedPlugins", ())),
        )

    def namespaces(self, step: _Step) -> CreateNamespaces:
        template = self._template(step, "namespaceTemplatePath")
        return CreateNamespaces(step.take("prefix"), self._count(step), template)

    def pods(self, step: _Step) -> CreatePods:
        is_steady = self._value(step.take("steadyStateParam", step.take("steadyState")))
        duration = self._value(step.take("durationParam", step.take("duration")))
        volume = self._template(step, "persistentVolumeTemplatePath", with_words=False)
        claim = self._template(step, "persistentVolumeClaimTemplatePath", with_words=False)
        template = self._template(step, "podTemplatePath", self._pod_template)
        alike = self._value(step.take("signatureBatchSizeParam", step.take("signatureBatchSize"))) or 1
        count = self._count(step)
        return CreatePods(
            Count(count.number, fixed=True) if is_steady else count,  # what is in flight does not grow with the cluster
            template,
            step.take("namespace", ""),
            step.take("collectMetrics", False),
            not step.take("skipWaitToCompletion", False),
            volume,
            claim,
            alike,
            self._value(step.take("gangs", 0)),
            _seconds(str(duration)) if is_steady else 0.0,
        )

    def pod_sets(self, step: _Step) -> CreatePodSets:
        inner = _Step(step.take("createPodsOp"))
        pods = self.pods(inner)
        inner.check_empty()
        return CreatePodSets(step.take("namespacePrefix"), self._count(step), pods)

    def anything(self, step: _Step) -> CreateAny:
        template = self._template(step, "templatePath")
        assert template is not None
        return CreateAny(template, self._count(step, default=1), step.take("namespace", ""))

    def allocation(self, step: _Step) -> AllocateClaims:
        return AllocateClaims(step.take("namespace", ""))

    def deletion(self, step: _Step) -> DeletePods:
        return DeletePods(
            step.take("namespace"),
            step.take("labelSelector", {}),
            step.take("deletePodsPerSecond", 0),
            not step.take("skipWaitToCompletion", False),
        )

    def churn(self, step: _Step) -> Churn:
        return Churn(
            tuple(Template(self._folder / path) for path in step.take("templatePaths")),
            step.take("mode") == "recreate",
            step.take("number", 0),
            step.take("intervalMilliseconds", 500) / 1000,
            step.take("namespace", ""),
        )

    def barrier(self, step: _Step) -> Barrier:
        return Barrier(tuple(step.take("namespaces", ())), step.take("stageRequirement") == "Attempted")

    def sleep(self, step: _Step) -> Sleep:
        return Sleep(_seconds(str(self._value(step.take("durationParam", step.take("duration"))))))

    def start(self, step: _Step) -> StartMeasuring:
        step.take("name")
        return StartMeasuring(tuple(step.take("namespaces", ())))

    def stop(self, _: _Step) -> StopMeasuring:
        return StopMeasuring()

    def _count(self, step: _Step, default: int | None = None) -> Count:
        parameter, number = step.take("countParam"), step.take("count", default)
        found = self._value(parameter) if parameter else number
        if not isinstance(found, int) or found < 0:
            raise Unsupported(f"{step.opcode}: a count of {found!r}")
        return Count(found, fixed=not parameter)

    def _template(
        self, step: _Step, key: str, default: str | None = None, *, with_words: bool = True
    ) -> Template | None:
        words = step.take("templateParams", {}) if with_words else {}
        path = step.take(key, default)
        return (
            Template(self._folder / path, {word: self._value(value) for word, value in words.items()}) if path else None
        )

    def _value(self, found: Any) -> Any:
        """What a word stands for, if it is the name of a parameter."""
        if not isinstance(found, str) or not found.startswith("$"):
            return found
        name, has_default, default = found[1:].partition("|")
        if name not in self._parameters and not has_default:
            raise Unsupported(f"no parameter {found}")
        return self._parameters.get(name, yaml.safe_load(default) if has_default else None)


_READERS: dict[str, Callable[[_Reader, _Step], Operation]] = {
    "createNodes": _Reader.nodes,
    "createNamespaces": _Reader.namespaces,
    "createPods": _Reader.pods,
    "createPodSets": _Reader.pod_sets,
    "createAny": _Reader.anything,
    "allocResourceClaims": _Reader.allocation,
    "deletePods": _Reader.deletion,
    "churn": _Reader.churn,
    "barrier": _Reader.barrier,
    "sleep": _Reader.sleep,
    "startCollectingMetrics": _Reader.start,
    "stopCollectingMetrics": _Reader.stop,
}


def _seconds(duration: str) -> float:
    units = {"ms": 0.001, "s": 1.0, "m": 60.0}
    for unit, seconds in units.items():
        number = duration.removesuffix(unit)
        if number != duration and number.replace(".", "", 1).isdigit():
            return float(number) * seconds
    raise Unsupported(f"a duration of {duration!r}")


def templates_of(workload: Workload) -> Iterator[Template]:
    """Every file that a workload reads."""
    for operation in workload.operations:
        steps = (operation.pods,) if isinstance(operation, CreatePodSets) else (operation,)
        for step in steps:
            for name in ("template", "volume", "claim"):
                if template := getattr(step, name, None):
                    yield template
            yield from getattr(step, "templates", ())
