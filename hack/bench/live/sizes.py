"""Which workload stands for a test case at a cluster size, and how it is made smaller."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.live.operations import CreateAny, CreateNamespaces, CreateNodes, CreatePods, CreatePodSets, Operation
from bench.live.workload_files import Workload
from localcluster.errors import Problem

# What this release of kube-scheduler has anyway: a workload that says so is the scheduler as people run it.
DEFAULT_GATES = {"SchedulerAsyncPreemption": True, "SchedulerAsyncAPICalls": False, "OpportunisticBatching": True}
# Their first pods fill the cluster; with fewer, the measured pods would fit without preemption.
FILLED_FIRST = "Preemption"


@dataclass(frozen=True)
class Sized:
    """A workload at one size, and what was done to upstream's numbers."""

    workload: Workload
    nodes: int
    measured: int  # pods
    derived: bool  # from a workload of another size

    @property
    def title(self) -> str:
        """How a person names it."""
        return f"{self.workload.case} {self.nodes:,} nodes"

    @property
    def has_latency(self) -> bool:
        """Whether it makes sense to ask how long a pod waits that comes at a fixed rate."""
        steps = [step for step in self.workload.operations if isinstance(step, CreatePods) and step.measured]
        return bool(steps) and not any(step.gangs or step.steady_seconds for step in steps)

    @property
    def has_gangs(self) -> bool:
        """Whether pods start together or not at all."""
        return any(isinstance(step, CreatePods) and step.gangs for step in self.workload.operations)


def choose(workloads: Sequence[Workload], name: str, nodes: int, scale: float, pods: int | None = None) -> Sized:
    """The workload of this name (CASE or CASE/WORKLOAD) at this size, scaled, or with a number of measured pods."""
    candidates = [found for found in workloads if name in (found.case, found.title)]
    if not candidates:
        raise Problem(f"There is no workload {name!r} that is supported; see: python -m bench.live --list")
    exact = [found for found in candidates if nodes_of(found) == nodes]
    largest = max(nodes_of(found) for found in candidates)
    model = [found for found in candidates if nodes_of(found) == largest]
    chosen = min(exact or model, key=lambda found: _preference(candidates.index(found), found))
    resized = chosen if exact or not nodes_of(chosen) else _resize(chosen, nodes / nodes_of(chosen))
    scaled = _scale(resized, scale if pods is None else _scale_for(resized, pods))
    return Sized(scaled, nodes_of(scaled), measured_of(scaled), derived=not exact)


def choose_whole(workloads: Sequence[Workload], title: str, scale: float) -> Sized:
    """The workload of this title as upstream has it."""
    nodes = [nodes_of(found) for found in workloads if found.title == title]
    return choose(workloads, title, nodes[0] if nodes else 0, scale)


def with_measured(sized: Sized, pods: int) -> Sized:
    """The same with fewer pods that are measured."""
    factor = min(1.0, pods / max(1, sized.measured))
    steps: list[Operation] = [
        replace(step, count=step.count.times(factor)) if isinstance(step, CreatePods) and step.measured else step
        for step in sized.workload.operations
    ]
    workload = replace(sized.workload, operations=tuple(steps))
    return replace(sized, workload=workload, measured=measured_of(workload))


def nodes_of(workload: Workload) -> int:
    """How many nodes it is about; the odd single node is not counted."""
    counts = [step.count for step in workload.operations if isinstance(step, CreateNodes)]
    return sum(count.number for count in counts if not count.fixed) or sum(count.number for count in counts)


def measured_of(workload: Workload) -> int:
    """How many pods are measured."""
    return sum(step.count.number for step in workload.operations if isinstance(step, CreatePods) and step.measured)


def _preference(position: int, workload: Workload) -> tuple[bool, int, int, int]:
    """First those with a floor, with the scheduler as it is shipped, then those that are over sooner."""
    changed = sum(DEFAULT_GATES.get(gate) is not on for gate, on in workload.gates.items())
    pods = sum(step.count.number for step in workload.operations if isinstance(step, CreatePods))
    return workload.threshold is None, changed, pods, position


def _resize(workload: Workload, factor: float) -> Workload:
    """The same at another number of nodes: everything that upstream gives as a number grows or shrinks with it."""
    sized = (CreateNodes, CreateNamespaces, CreateAny, CreatePods, CreatePodSets)
    counts = [step.count for step in workload.operations if isinstance(step, sized) and not step.count.fixed]
    if any(0 < count.number * factor < 1 for count in counts):
        raise Problem(f"{workload.title} cannot be scaled down that far: less than one object of a kind would be left")
    steps: list[Operation] = [
        replace(step, count=step.count.times(factor)) if isinstance(step, sized) else step
        for step in workload.operations
    ]
    return replace(workload, operations=tuple(steps))


def _scale_for(workload: Workload, pods: int) -> float:
    """The scale that results in this number of measured pods."""
    measured = measured_of(workload)
    if not 0 < pods <= measured:
        raise Problem(f"{workload.case} can measure 1 to {measured:,} pods at this size, not {pods:,}")
    return pods / measured


def _scale(workload: Workload, scale: float) -> Workload:
    return workload if scale == 1 else replace(workload, operations=tuple(_fewer(workload, scale)))


def _fewer(workload: Workload, scale: float) -> list[Operation]:
    keep_first = workload.case.startswith(FILLED_FIRST)
    steps: list[Operation] = []
    for step in workload.operations:
        if isinstance(step, CreatePods) and (step.measured or not keep_first):
            steps.append(replace(step, count=step.count.times(scale)))
        elif isinstance(step, CreatePodSets):
            steps.append(replace(step, pods=replace(step.pods, count=step.pods.count.times(scale))))
        else:
            steps.append(step)
    return steps
