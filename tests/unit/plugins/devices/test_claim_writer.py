"""Writes of claims against a server that conflicts, loses answers and refuses."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kit.claim_server import ClaimServer, lost, refused
from kit.device_scene import claim as claim_of
from pilotage.framework.api.handle import ApiFailed, Handle
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.devices import (
    DELETE_PROTECTION,
    AllocatedConfiguration,
    AllocatedDevice,
    AllocatedDevices,
    Allocation,
    Consumer,
    OpaqueConfiguration,
    ResourceClaim,
    ResourceClaimStatus,
)
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources import claim_writer
from pilotage.plugins.devices.dynamic_resources.claim_lanes import ClaimLanes
from pilotage.plugins.devices.dynamic_resources.claim_writer import ClaimWriter
from pilotage.plugins.devices.dynamic_resources.claims_ledger import ClaimsLedger
from pilotage.testing import make_pod

NOW = "1970-01-01T00:16:40Z"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_writer, "PAUSE", 0.0)
    monkeypatch.setattr(claim_writer, "BETWEEN_LOOKS", 0.0)


class Usage:
    """Counts nothing."""

    def __init__(self) -> None:
        self.held: dict[str, Allocation] = {}

    def take(self, claim_uid: str, allocation: Allocation) -> None:
        self.held[claim_uid] = allocation

    def release(self, claim_uid: str) -> None:
        del self.held[claim_uid]


class Stage:
    """A writer, its server, and what it knows."""

    def __init__(self, *claims: ResourceClaim) -> None:
        self.server = ClaimServer(*claims)
        self.usage = Usage()
        self.ledger = ClaimsLedger(self.usage)
        self.announced: list[tuple[ResourceClaim | None, Any]] = []
        self.lanes = ClaimLanes()
        handle = Handle(api=self.server, clock=lambda: 1000.0)
        handle.announce = lambda old, new: self.announced.append((old, new))  # type: ignore[arg-type]
        self.writer = ClaimWriter(handle, self.ledger, self.lanes)
        for each in claims:
            self.see(each.metadata.name)

    def see(self, name: str) -> ResourceClaim:
        """Let the watch show a claim."""
        found = self.server.claim(name)
        self.ledger.see(self.ledger.find("ns", name), found)
        return found

    def known(self, name: str = "a") -> ResourceClaim:
        found = self.ledger.find("ns", name)
        assert found is not None
        return found

    async def reserve(self, by: Pod, allocation: Allocation | None, name: str = "a") -> str:
        """Reserve a claim for a pod, and return the error."""
        found = self.known(name)
        if allocation is not None:
            self.ledger.start(found, allocation, by)
        try:
            await self.writer.reserve(found, by, "n1", allocation)
        except PluginFailed as error:
            return str(error)
        return ""


def pod(name: str = "web") -> Pod:
    return make_pod(name, uid=f"{name}-uid", namespace="ns")


def got(device: str = "d", parameters: bytes | None = None) -> Allocation:
    config = ()
    if parameters is not None:
        raw = __import__("msgspec").Raw(parameters)
        config = (AllocatedConfiguration("FromClaim", (), OpaqueConfiguration("a", raw)),)
    return Allocation(AllocatedDevices((AllocatedDevice("r", "a", "p", device),), config))


def free(name: str = "a") -> ResourceClaim:
    return claim_of(name=name)


def held(*consumers: str, device: str = "d", name: str = "a") -> ResourceClaim:
    made = claim_of(name=name)
    made.metadata.finalizers = (DELETE_PROTECTION,)
    made.status = ResourceClaimStatus(got(device), tuple(Consumer(resource="pods", uid=each) for each in consumers))
    return made


async def test_a_claim_gets_its_finalizer_then_devices_and_consumer() -> None:
    stage = Stage(free())
    assert await stage.reserve(pod(), got()) == ""
    written = stage.server.claim("a")
    assert stage.server.requests == ["PATCH a", "PATCH a/status"]
    assert written.metadata.finalizers == (DELETE_PROTECTION,)
    assert written.status.reserved_for == (Consumer(resource="pods", name="web", uid="web-uid"),)
    assert written.status.allocation is not None
    assert written.status.allocation.allocation_timestamp == NOW
    assert stage.known() == written
    assert [new.status.allocation is not None for _, new in stage.announced] == [False, True]
    assert len(stage.lanes) == 0


async def test_devices_of_others_are_not_stamped_and_a_second_reservation_needs_no_write() -> None:
    stage = Stage(held("x"))
    assert await stage.reserve(pod(), None) == ""
    assert await stage.reserve(pod(), None) == ""
    written = stage.server.claim("a")
    assert stage.server.requests == ["PATCH a/status"]
    assert [each.uid for each in written.status.reserved_for] == ["x", "web-uid"]
    assert written.status.allocation is not None
    assert written.status.allocation.allocation_timestamp is None


async def test_reservations_that_wait_are_sent_in_one_update() -> None:
    stage = Stage(held())
    found = await asyncio.gather(*(stage.reserve(pod(f"p{number}"), None) for number in range(20)))
    assert set(found) == {""}
    assert len(stage.server.requests) == 1
    assert len(stage.server.claim("a").status.reserved_for) == 20


async def test_no_more_consumers_than_the_server_allows_are_sent_at_once() -> None:
    stage = Stage(held(*(f"x{number}" for number in range(250))))
    found = await asyncio.gather(*(stage.reserve(pod(f"p{number}"), None) for number in range(10)))
    too_many = "add reservation to claim ns/a: status.reservedFor: Too many: 257: must have at most 256 items"
    assert found == [""] * 6 + [too_many] * 4
    assert len(stage.server.claim("a").status.reserved_for) == 256


async def test_what_the_server_refuses_for_all_is_tried_one_by_one() -> None:
    stage = Stage(held())
    stage.server.before.extend([refused, None, refused])
    found = await asyncio.gather(*(stage.reserve(pod(f"p{number}"), None) for number in range(3)))
    assert found == ["", "add reservation to claim ns/a: forbidden", ""]


async def test_claims_are_written_side_by_side() -> None:
    stage = Stage(free("a"), free("b"))
    await asyncio.gather(stage.reserve(pod(), got("d"), "a"), stage.reserve(pod(), got("e"), "b"))
    assert stage.server.requests[:2] == ["PATCH a", "PATCH b"]


def touched(stage: Stage) -> None:
    stage.server.touch("a")


def deleted(stage: Stage) -> None:
    stage.server.stored.clear()


def replaced(stage: Stage) -> None:
    other = free()
    other.metadata.uid = "another"
    stage.server.put_claim(other)


def going(stage: Stage) -> None:
    claim = stage.server.claim("a")
    claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
    stage.server.put_claim(claim)


def taken(stage: Stage) -> None:
    stage.server.put_claim(held("x", device="other"))


def allocated_the_same(stage: Stage) -> None:
    stage.server.put_claim(held("x"))


def deallocated(stage: Stage) -> None:
    stage.server.put_claim(free())


GONE = "claim ns/a got deleted in the meantime"


@pytest.mark.parametrize(
    ("claim", "change", "error", "requests"),
    [
        pytest.param(free(), touched, "", ["PATCH a", "GET a", "PATCH a", "PATCH a/status"], id="changed"),
        pytest.param(
            free(), deleted, "add finalizer to claim ns/a: resourceclaim a not found", ["PATCH a"], id="deleted"
        ),
        pytest.param(free(), replaced, GONE, ["PATCH a", "GET a"], id="replaced by another one of its name"),
        pytest.param(free(), going, GONE, ["PATCH a", "GET a"], id="about to be deleted"),
        pytest.param(
            free(),
            taken,
            "claim ns/a got allocated elsewhere in the meantime",
            ["PATCH a", "GET a"],
            id="allocated by another scheduler",
        ),
        pytest.param(free(), allocated_the_same, "", ["PATCH a", "GET a", "PATCH a/status"], id="allocated as decided"),
        pytest.param(held("x"), touched, "", ["PATCH a/status", "GET a", "PATCH a/status"], id="used by one more"),
        pytest.param(
            held("x"),
            deallocated,
            "claim ns/a got deallocated elsewhere in the meantime",
            ["PATCH a/status", "GET a"],
            id="deallocated",
        ),
    ],
)
async def test_claims_that_change_in_between(
    claim: ResourceClaim, change: Callable[[Stage], None], error: str, requests: list[str]
) -> None:
    stage = Stage(claim)
    change(stage)
    allocation = got() if claim.status.allocation is None else None
    assert (await stage.reserve(pod(), allocation), stage.server.requests) == (error, requests)


async def test_conflicts_without_end_are_given_up_after_five_tries() -> None:
    stage = Stage(held())
    stage.server.before.extend([lambda: stage.server.touch("a"), None] * 20)
    error = await stage.reserve(pod(), None)
    assert error == "add reservation to claim ns/a: the object has been modified"
    assert stage.server.requests.count("PATCH a/status") == 5


async def test_an_answer_that_is_lost_is_looked_for() -> None:
    stage = Stage(free())
    stage.server.after.extend([None, lost])
    assert await stage.reserve(pod(), got()) == ""
    assert stage.server.requests == ["PATCH a", "PATCH a/status", "GET a"]


async def test_a_write_that_is_lost_is_repeated() -> None:
    stage = Stage(free())
    stage.server.before.extend([None, lost])
    assert await stage.reserve(pod(), got()) == ""
    assert stage.server.requests == ["PATCH a", "PATCH a/status", "GET a", "PATCH a/status"]


@pytest.mark.parametrize("took_effect", [True, False])
async def test_devices_of_a_write_without_any_answer_stay_taken_until_it_is_clear(took_effect: bool) -> None:
    stage = Stage(free())
    if took_effect:
        stage.server.after.extend([None, lost])
        stage.server.before.extend([None, None, lost])  # and so is the answer to the next read
    else:
        stage.server.before.extend([None, lost, lost])
    assert await stage.reserve(pod(), got()) == ("add allocation and reservation to claim ns/a: the connection broke")
    stage.ledger.release("uid-a", "web-uid")
    assert stage.usage.held == {"uid-a": got()}
    assert stage.ledger.is_undecided("uid-a")
    stage.announced.clear()
    await asyncio.wait(stage.writer._tasks)
    assert not stage.ledger.is_doubted("uid-a")
    assert [each.device for each in _devices(stage)] == (["d"] if took_effect else [])
    (old, new) = stage.announced[-1]
    assert old is not None
    assert (old.status.allocation is None, new.status.allocation is None) == (took_effect, not took_effect)


def _devices(stage: Stage) -> list[AllocatedDevice]:
    return [each for held in stage.usage.held.values() for each in held.devices.results]


async def test_a_claim_that_takes_no_finalizer_in_json_gets_it_as_it_is_stored() -> None:
    stage = Stage(free())
    stage.server.refuses_json = True
    assert await stage.reserve(pod(), got()) == ""
    assert stage.server.requests == ["PATCH a", "GET a", "PUT a", "PATCH a/status"]
    assert stage.server.claim("a").metadata.finalizers == (DELETE_PROTECTION,)


async def test_parameters_with_nulls_are_written_with_the_whole_claim() -> None:
    stage = Stage(free())
    assert await stage.reserve(pod(), got(parameters=b'{"a":[{"b":null}]}')) == ""
    assert stage.server.requests == ["PATCH a", "GET a", "PUT a/status"]
    written = stage.server.claim("a").status.allocation
    assert written is not None
    assert written.devices.config[0].opaque is not None
    assert bytes(written.devices.config[0].opaque.parameters) == b'{"a": [{"b": null}]}'


async def test_a_pod_that_is_gone_does_not_keep_others_from_the_claim() -> None:
    stage = Stage(held())
    stage.server.gone_pods = {"p0-uid"}
    found = await asyncio.gather(*(stage.reserve(pod(f"p{number}"), None) for number in range(3)))
    assert found == [claim_writer.NOT_ALLOWED, "", ""]
    assert [each.name for each in stage.server.claim("a").status.reserved_for] == ["p1", "p2"]


async def test_a_failed_pod_withdraws_after_its_own_write_and_devices_stay() -> None:
    stage = Stage(free())
    task = asyncio.create_task(stage.reserve(pod(), got()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    stage.writer.start_withdrawal(stage.known(), pod())
    await stage.lanes.finished()
    assert stage.server.requests == ["PATCH a", "PATCH a/status", "PATCH a/status"]
    assert stage.server.claim("a").status.reserved_for == ()
    assert stage.server.claim("a").status.allocation is not None
    assert stage.known().status.reserved_for == ()


async def test_nothing_is_withdrawn_that_was_never_sent() -> None:
    stage = Stage(free())
    stage.server.before.append(refused)
    await stage.reserve(pod(), got())
    stage.writer.start_withdrawal(stage.known(), pod())
    await stage.lanes.finished()
    assert stage.server.requests == ["PATCH a"]


async def test_a_reservation_of_an_earlier_scheduler_is_withdrawn() -> None:
    stage = Stage(held("web-uid", "x"))
    stage.writer.start_withdrawal(stage.known(), pod())
    await stage.lanes.finished()
    assert [each.uid for each in stage.server.claim("a").status.reserved_for] == ["x"]


async def test_a_reservation_that_stays_is_forgotten() -> None:
    stage = Stage(held())
    await stage.reserve(pod(), None)
    stage.writer.finish(stage.known(), pod())
    assert not stage.writer._reservations


@pytest.mark.parametrize(("consumers", "is_freed"), [((), True), (("web-uid",), True), (("x",), False)])
async def test_only_claims_that_nobody_else_uses_are_freed(consumers: tuple[str, ...], is_freed: bool) -> None:
    stage = Stage(held(*consumers))
    stage.writer.start_deallocation(stage.known(), pod())
    await stage.lanes.finished()
    assert (stage.server.claim("a").status.allocation is None) is is_freed
    assert bool(stage.usage.held) is not is_freed


async def test_failures_of_writes_that_nobody_waits_for_are_only_logged() -> None:
    stage = Stage(held("web-uid"))
    stage.server.before.extend([refused, refused])
    stage.writer.start_withdrawal(stage.known(), pod())
    stage.writer.start_deallocation(stage.known(), pod())
    await stage.lanes.finished()
    assert len(stage.server.requests) == 2


async def test_a_claim_of_a_pod_is_created_and_deleted_with_its_finalizer() -> None:
    stage = Stage()
    body = {"metadata": {"generateName": "web-", "namespace": "ns", "finalizers": [DELETE_PROTECTION]}}
    made = await stage.writer.requests.create(body, pod(), "n1")
    assert stage.known("web-x") == made
    stage.server.before.append(lambda: stage.server.touch("web-x"))
    await stage.writer.requests.delete(made)
    assert stage.server.stored == {}
    assert stage.server.requests == ["POST", "PATCH web-x", "GET web-x", "PATCH web-x", "DELETE web-x"]
    await stage.writer.requests.delete(made)


async def test_an_error_that_ends_deletion_is_reported() -> None:
    stage = Stage(held())
    stage.server.before.append(refused)
    with pytest.raises(ApiFailed, match="forbidden"):
        await stage.writer.requests.delete(stage.known())


async def test_pods_do_not_wait_for_ever_when_the_scheduler_stops() -> None:
    stage = Stage(free())
    stage.server.before.append(lambda: (_ for _ in ()).throw(KeyError("a bug")))
    assert await stage.reserve(pod(), got()) == claim_writer.GIVEN_UP
