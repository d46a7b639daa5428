"""Devices that have to be prepared: what counts as ready, and how pods wait for it."""

import asyncio
from typing import Any

import pytest

from kit.claim_server import ClaimServer
from kit.device_scene import claim as claim_of
from kit.device_scene import device, device_class, exactly, piece
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.own_metrics import MetricStore, OwnMetrics
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.devices import (
    DELETE_PROTECTION,
    AllocatedDevice,
    AllocatedDevices,
    AllocatedDeviceStatus,
    Allocation,
    Condition,
    ResourceClaim,
    ResourceClaimStatus,
)
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources import DynamicResources
from pilotage.plugins.devices.dynamic_resources.binding_conditions import preparation
from pilotage.testing import FakeCluster, handle_of, make_node, make_pod

BEGUN, LATER = "1970-01-01T00:00:00Z", 1000.0
TIMED_OUT = "device binding timeout: claim=a"
FAILED = 'device binding failed: claim=a, reason=R, message="because"'


def prepared(name: str, *, conditions: tuple[str, ...] = ("Ready", "Cabled")) -> AllocatedDevice:
    return AllocatedDevice("r", "a", "p", name, binding_conditions=conditions, binding_failure_conditions=("Broken",))


def told(name: str, **conditions: str) -> AllocatedDeviceStatus:
    found = tuple(Condition(condition, status, "R", "because") for condition, status in conditions.items())
    return AllocatedDeviceStatus("a", "p", name, found)


def allocated(*results: AllocatedDevice, told: tuple[AllocatedDeviceStatus, ...] = ()) -> ResourceClaim:
    made = claim_of(name="a")
    made.status = ResourceClaimStatus(Allocation(AllocatedDevices(results), None, BEGUN), (), told)
    return made


READY = {"Ready": "True", "Cabled": "True"}


@pytest.mark.parametrize(
    ("claim", "is_ready", "problem"),
    [
        pytest.param(claim_of(name="a"), True, "", id="no devices"),
        pytest.param(allocated(AllocatedDevice("r", "a", "p", "x")), True, "", id="nothing to prepare"),
        pytest.param(allocated(prepared("x")), False, "", id="nothing was told"),
        pytest.param(allocated(prepared("x"), told=(told("y", **READY),)), False, "", id="of another device"),
        pytest.param(allocated(prepared("x"), told=(told("x", Ready="True"),)), False, "", id="a condition is missing"),
        pytest.param(
            allocated(prepared("x"), told=(told("x", Ready="True", Cabled="Unknown"),)), False, "", id="one is not true"
        ),
        pytest.param(allocated(prepared("x"), told=(told("x", **READY),)), True, "", id="all are true"),
        pytest.param(
            allocated(prepared("x"), told=(told("x", **READY, Broken="True"),)), False, FAILED, id="failed all the same"
        ),
        pytest.param(
            allocated(prepared("x"), told=(told("x", **READY, Broken="False"),)), True, "", id="it has not failed"
        ),
        pytest.param(
            allocated(prepared("x"), prepared("y"), told=(told("y", Broken="True"),)),
            False,
            "",
            id="another one comes first",
        ),
    ],
)
def test_what_is_ready(claim: ResourceClaim, is_ready: bool, problem: str) -> None:
    found = preparation(claim, LATER, 2 * LATER)
    assert (found.is_ready, found.problem) == (is_ready, problem)
    late = preparation(claim, LATER, LATER / 2)
    assert (late.is_ready, late.problem) == (is_ready, problem or ("" if is_ready else TIMED_OUT))


class Stage:
    """A pod that is about to be bound, whose device has to be prepared."""

    def __init__(self, **arguments: Any) -> None:
        wanted = claim_of(exactly("r"), name="a")
        x = device("x", bindingConditions=["Ready"], bindingFailureConditions=["Broken"])
        self.cluster = FakeCluster([make_node("n1")], objects=[device_class("c"), piece("s", x)])
        self.server = ClaimServer(wanted)
        self.cluster.cache.objects.put(self.server.claim("a"))
        self.pod = make_pod("web", uid="web-uid", namespace="ns", spec={"resourceClaims": [self.entry]})
        self.plugin = DynamicResources(**arguments)
        self.metrics = MetricStore()
        handle = handle_of(self.cluster, api=self.server, clock=lambda: LATER)
        handle.metrics = OwnMetrics("DynamicResources", "batch", self.metrics)
        self.plugin.start(handle)

    entry = {"name": "gpu", "resourceClaimName": "a"}  # noqa: RUF012

    def chosen(self) -> Cycle:
        cycle = self.cluster.cycle(self.pod)
        assert self.plugin.pre_filter(cycle, self.pod) is None
        assert self.plugin.reserve(cycle, self.pod, "n1") is None
        assert self.plugin.pre_bind_pre_flight(cycle, self.pod, "n1") is None
        return cycle

    def tell(self, **conditions: str) -> None:
        """Let the driver report, and the watch show it."""
        found = self.server.claim("a")
        found.status = ResourceClaimStatus(
            found.status.allocation, found.status.reserved_for, (AllocatedDeviceStatus("a", "p", "x", _as(conditions)),)
        )
        self.show(self.server.put_claim(found))

    def show(self, claim: ResourceClaim) -> None:
        self.cluster.cache.objects.put(claim)
        self.plugin._world.noticed(self.cluster.cache.objects, claim)

    async def binding(self, cycle: Cycle) -> "asyncio.Task[Any]":
        """Start PreBind, and return when it waits."""
        task = asyncio.create_task(self.plugin.pre_bind(cycle, self.pod, "n1"))
        while not task.done() and not self.plugin._world.listeners:  # noqa: ASYNC110 - there is nothing to wait for
            await asyncio.sleep(0)
        return task

    def counted(self) -> list[str]:
        return [line for family in self.metrics for line in family.text({}).splitlines() if line[:1] != "#"]


def _as(conditions: dict[str, str]) -> tuple[Condition, ...]:
    return tuple(Condition(name, status, "R", "because") for name, status in conditions.items())


async def test_a_pod_waits_until_its_device_is_prepared() -> None:
    stage = Stage()
    cycle = stage.chosen()
    task = await stage.binding(cycle)
    stage.tell(Ready="False")
    await asyncio.sleep(0)
    assert not task.done()
    stage.tell(Ready="True")
    assert await task is None
    note = "waiting for binding conditions for device on node n1"
    assert stage.plugin.handle.events.recorded == [("ns/web", "BindingConditionsPending", note)]  # type: ignore[attr-defined]
    assert not stage.plugin._world.listeners
    assert not stage.plugin._claims.is_undecided("uid-a")
    name = "pilotage_plugins_dynamic_resources_bindingconditions_allocations_total"
    assert f'{name}{{profile="batch",driver="a",status="success"}} 1' in stage.counted()


async def test_a_device_that_fails_fails_the_pod_and_stays_until_it_is_freed() -> None:
    stage = Stage()
    cycle = stage.chosen()
    task = await stage.binding(cycle)
    stage.tell(Broken="True")
    with pytest.raises(PluginFailed, match=r'^device binding failed: claim=a, reason=R, message="because"$'):
        await task
    stage.plugin.unreserve(cycle, stage.pod, "n1")
    await stage.plugin._world.lanes.finished()
    stored = stage.server.claim("a")
    assert (stored.status.reserved_for, stored.status.allocation is None) == ((), False)
    stage.show(stored)
    again = stage.cluster.cycle(stage.pod)
    assert stage.plugin.pre_filter(again, stage.pod) is None
    verdicts = stage.plugin.filter_nodes(again, stage.pod, again.nodes)
    found = stage.plugin.post_filter(again, stage.pod, verdicts)
    assert found.follow_up is not None
    found.follow_up()
    await stage.plugin._world.lanes.finished()
    assert stage.server.claim("a").status.allocation is None
    stage.chosen()  # a fresh search, although the watch has not shown it


async def test_a_device_that_takes_too_long_fails_the_pod() -> None:
    stage = Stage(bindingTimeout="1s")
    cycle = stage.chosen()
    stage.plugin.handle.clock = lambda: LATER + 10
    task = await stage.binding(cycle)
    stage.plugin.handle.clock = lambda: LATER + 20
    stage.tell(Ready="False")
    with pytest.raises(PluginFailed, match=r"^device binding timeout: claim=a$"):
        await task
    assert any('status="timeout"' in line for line in stage.counted())


async def test_the_wait_ends_even_if_nothing_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pilotage.plugins.devices.dynamic_resources.binding_conditions.BETWEEN_LOOKS", 0.01)
    stage = Stage(bindingTimeout="1s")
    stage.plugin._writing._preparations._seconds = 0.03  # type: ignore[union-attr]
    task = await stage.binding(stage.chosen())
    with pytest.raises(PluginFailed, match=r"^device binding timeout: context deadline exceeded$"):
        await task


@pytest.mark.parametrize(
    ("is_deleted", "error"),
    [
        (True, 'could not find ResourceClaim "ns/a"'),
        (False, "claim ns/a got deallocated elsewhere in the meantime"),
    ],
)
async def test_a_claim_that_loses_its_devices_fails_the_pod(is_deleted: bool, error: str) -> None:
    stage = Stage()
    task = await stage.binding(stage.chosen())
    stored = stage.server.claim("a")
    if is_deleted:
        stage.show(stored)
        stage.cluster.cache.objects.drop(stored)
        stage.plugin._world.noticed(stage.cluster.cache.objects, stored)
    else:
        stored.status = ResourceClaimStatus()
        stage.show(stage.server.put_claim(stored))
    with pytest.raises(PluginFailed, match=error):
        await task


async def test_all_claims_of_a_pod_have_an_outcome_before_it_fails() -> None:
    stage = Stage()
    other = claim_of(name="b")
    stage.server.put_claim(other)
    stage.cluster.cache.objects.put(stage.server.claim("b"))
    stage.pod = _with(stage.pod, "b", "a")
    cycle = stage.chosen()
    stage.server.before.append(lambda: (_ for _ in ()).throw(KeyError("a bug")))
    with pytest.raises(PluginFailed):
        await stage.plugin.pre_bind(cycle, stage.pod, "n1")
    assert DELETE_PROTECTION in stage.server.claim("a").metadata.finalizers
    assert stage.server.claim("a").status.allocation is not None


def _with(pod: Pod, *claims: str) -> Pod:
    entries = [{"name": each, "resourceClaimName": each} for each in claims]
    return make_pod(pod.name, uid=pod.uid, namespace=pod.namespace, spec={"resourceClaims": entries})
