"""What is said of Kubernetes' own PodGroups, once something is decided about their pods."""

from typing import Any

import pytest

from kit.live_core import LiveCore
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import Filter
from pilotage.framework.api.verdicts import Filtered
from pilotage.model.gangs import GROUP_LABEL
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.testing import make_pod
from pilotage.testing.gangs import make_group, make_members, make_native_group

NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."


def live(*plugins: Any, cpu: int = 2) -> LiveCore:
    core = LiveCore(Coscheduling(), *plugins)
    core.add_node("n1", cpu=str(cpu))
    return core


def members(count: int, gang: str = "gang", **fields: Any) -> list[Pod]:
    spec = {"schedulingGroup": {"podGroupName": gang}}
    return [make_pod(f"{gang}-{number}", cpu=1, spec=spec, **fields) for number in range(count)]


@pytest.mark.parametrize(
    ("minimum", "count", "said"),
    [
        pytest.param(2, 2, [("gang", "Scheduled", "")], id="a gang that is placed"),
        pytest.param(2, 1, [], id="a gang that is not whole yet"),
        pytest.param(2, 3, [("gang", "Scheduled", "")], id="a pod beyond the minimum that waits"),
        pytest.param(None, 1, [("gang", "Scheduled", "")], id="a pod of a group without a minimum"),
    ],
)
async def test_what_is_said(minimum: int | None, count: int, said: list[tuple[str, str, str]]) -> None:
    core = live()
    core.core.objects.added(make_native_group(minimum=minimum))
    core.create(*members(count))
    await core.settle()
    assert core.api.groups == said


async def test_why_a_gang_waits() -> None:
    core = live()
    core.core.objects.added(make_native_group(minimum=3))
    core.create(*members(3))
    await core.settle()
    (said,) = core.api.groups
    assert said[:2] == ("gang", "Unschedulable")
    assert said[2].endswith(f"2 of the 3 pods that are needed at once fit, this one does not: {NO_ROOM}")


async def test_why_a_pod_of_a_group_without_a_minimum_waits() -> None:
    core = live(cpu=0)
    core.core.objects.added(make_native_group(minimum=None))
    core.create(*members(1))
    await core.settle()
    (said,) = core.api.groups
    assert said[:2] == ("gang", "Unschedulable")
    assert said[2].startswith(NO_ROOM)


async def test_that_others_leave_for_it() -> None:
    core = live()
    core.create(make_pod("low", cpu=1, node="n1"))
    core.core.objects.added(make_native_group(minimum=2))
    core.create(*members(2, priority=10))
    await core.settle()
    assert core.api.evictions == ["low"]
    said = "PodGroup default/gang waits for the pods evicted for it to terminate"
    assert core.api.groups == [("gang", "Unschedulable", said)]


async def test_an_error_is_told_as_one() -> None:
    class Fails(Filter):
        """Does not work."""

        def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
            raise ValueError("oops")

    core = live(Fails())
    core.core.objects.added(make_native_group(minimum=2))
    core.create(*members(2))
    await core.settle()
    (said,) = core.api.groups
    assert said[:2] == ("gang", "SchedulerError")
    assert "oops" in said[2]


async def test_of_groups_of_the_other_api_the_operator_tells() -> None:
    core = live()
    core.core.objects.added(make_group(minimum=2))
    core.create(*make_members(2, cpu=1), make_pod("alone", labels={GROUP_LABEL: "missing"}))
    await core.settle()
    assert len(core.api.binds) == 2
    assert core.api.groups == []
