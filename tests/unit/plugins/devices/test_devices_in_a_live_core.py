"""Pods with claims in a whole scheduler: who is woken when, and that no death between two writes leaves a trace."""

import asyncio
from collections import Counter

import pytest

from kit.claim_server import ClaimServer, refused
from kit.device_scene import claim as claim_of
from kit.device_scene import device, device_class, exactly, piece
from kit.live_core import FakeApi, LiveCore
from pilotage.framework.api.handle import NotAllowed
from pilotage.kinds.devices import (
    DELETE_PROTECTION,
    AllocatedDevice,
    AllocatedDevices,
    Allocation,
    ResourceClaim,
    ResourceClaimStatus,
)
from pilotage.model.pod import Pod
from pilotage.model.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from pilotage.plugins.devices.dynamic_resources import DynamicResources
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

GANG = {"pod-group.pilotage.dev/name": "train", "pod-group.pilotage.dev/min-available": "2"}
ELSEWHERE = NodeSelector((NodeSelectorTerm(match_fields=(NodeSelectorRequirement("metadata.name", "In", ("n9",)),)),))


class Server(ClaimServer):
    """Has claims, and binds pods."""

    def __init__(self, *claims: ResourceClaim) -> None:
        super().__init__(*claims)
        self.api = FakeApi()
        self.bound: dict[str, str] = {}
        self.refuses_binds = 0
        self.dies_after: int | None = None  # so many requests

    async def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod, or refuse."""
        await self._received("BIND", f"/resourceclaims/{pod.name}", pod)
        if self.refuses_binds:
            self.refuses_binds -= 1
            refused()
        await self.api.bind(pod, node)
        self.bound[pod.name] = node

    async def _received(self, verb: str, path: str, pod: Pod | None) -> None:
        if self.dies_after is not None and len(self.requests) >= self.dies_after:
            raise NotAllowed("this scheduler is dead")
        await super()._received(verb, path, pod)


class World:
    """A scheduler on two nodes with one device each, and a server whose watch shows what it is told to show."""

    def __init__(self, server: Server, *plugins: Coscheduling, devices: int = 1) -> None:
        self.server = server
        self.plugin = DynamicResources()
        self.live = LiveCore(self.plugin, *plugins, plugin_api=self._connected)
        self.shown: dict[str, ResourceClaim] = {}
        objects = self.live.core.objects
        objects.added(device_class("c"))
        for name in ("n1", "n2"):
            self.live.add_node(name)
            each = [device(f"{name}-{number}") for number in range(devices)]
            objects.added(piece(name, *each, pool=name, nodeName=name))
        self.show()

    def _connected(self, api: FakeApi) -> Server:
        self.server.api = api
        return self.server

    def show(self) -> None:
        """Let the watch show all claims as they are."""
        names = {path.rpartition("/")[2] for path in self.server.stored}
        for name in self.shown.keys() - names:
            self.live.core.objects.deleted(self.shown.pop(name))
        for name in sorted(names):
            new, old = self.server.claim(name), self.shown.get(name)
            self.shown[name] = new
            if old is None:
                self.live.core.objects.added(new)
            elif old.metadata.resource_version != new.metadata.resource_version:
                self.live.core.objects.updated(old, new)

    async def settle(self) -> None:
        """Let everything happen that can happen without time."""
        for _ in range(10):
            await self.live.settle()

    async def settle_and_show(self, seconds: float = 0.0) -> None:
        """Let time pass, with a watch that is not late."""
        await self.settle()
        self.show()
        await asyncio.sleep(seconds)
        await self.settle()
        self.show()


def pod(name: str, claim: str, **fields: object) -> Pod:
    entries = [{"name": "gpu", "resourceClaimName": claim}]
    return make_pod(name, uid=f"{name}-uid", namespace="ns", spec={"resourceClaims": entries}, **fields)  # type: ignore[arg-type]


def one(name: str) -> ResourceClaim:
    return claim_of(exactly("r"), name=name)


def stuck(name: str) -> ResourceClaim:
    """Return a claim whose device is on a node that does not exist."""
    made = one(name)
    results = (AllocatedDevice("r", "a", "n9", "x"),)
    made.metadata.finalizers = (DELETE_PROTECTION,)
    made.status = ResourceClaimStatus(Allocation(AllocatedDevices(results), ELSEWHERE, "2026-01-01T00:00:00Z"))
    return made


async def test_claims_are_written_before_the_bind() -> None:
    world = World(Server(one("a")))
    world.live.create(pod("web", "a"))
    await world.settle()
    assert world.server.requests == ["PATCH a", "PATCH a/status", "BIND web"]
    assert len(world.server.claim("a").status.reserved_for) == 1


async def test_a_pod_that_waits_for_a_claim_is_woken_by_our_own_write_before_the_watch_shows_it() -> None:
    world = World(Server(one("a")))
    world.live.create(pod("web", "a"), pod("db", "a"))
    await world.settle()
    waits = [message for name, _, message, _ in world.live.api.conditions if name == "db"]
    assert "resource claim ns/a is in the process of being allocated" in waits[0]
    await asyncio.sleep(3)  # its back-off
    await world.settle()
    assert world.server.bound.keys() == {"web", "db"}
    assert world.shown["a"].status.allocation is None  # it was never shown


async def test_a_pod_that_waits_for_a_device_is_woken_when_the_bind_of_another_fails() -> None:
    world = World(Server(one("a"), one("b"), one("c")))
    pods = [pod("p1", "a"), pod("p2", "b"), pod("p3", "c")]
    world.live.create(*pods)
    while world.live.core.loop._batch():
        pass
    assert world.live.place(pods[2]) == "unschedulable"
    world.server.before.extend([refused, refused])
    await world.settle()
    assert not world.server.bound.keys() & {"p1", "p2"}
    assert world.live.place(pods[2]) != "unschedulable"
    await asyncio.sleep(3)
    await world.settle()
    assert len(world.server.bound) == 2


async def test_a_claim_that_keeps_its_pod_away_is_freed_and_the_pod_placed() -> None:
    world = World(Server(stuck("a")))
    world.live.create(pod("web", "a"))
    await world.settle_and_show()
    assert world.server.requests[0] == "PATCH a/status"
    message = world.live.api.conditions[0][2]
    assert message.startswith("0/2 nodes are available: 2 resourceclaim not available on the node. ")
    assert "deallocation of ResourceClaim completed" in message
    await world.settle_and_show(3)
    assert world.server.bound.keys() == {"web"}


async def test_a_bind_that_fails_leaves_the_devices_and_the_next_attempt_uses_them() -> None:
    world = World(Server(one("a")))
    world.server.refuses_binds = 1
    world.live.create(pod("web", "a"))
    await world.settle_and_show()
    assert not world.server.bound
    kept = world.server.claim("a").status
    assert (kept.allocation is None, kept.reserved_for) == (False, ())
    await world.settle_and_show(3)
    assert world.server.bound.keys() == {"web"}
    assert world.server.claim("a").status.allocation == kept.allocation


async def test_a_gang_shares_a_claim_in_one_decision() -> None:
    world = World(Server(one("a")), Coscheduling())
    world.live.create(pod("p1", "a", labels=GANG), pod("p2", "a", labels=GANG))
    await world.settle_and_show()
    assert world.server.bound.keys() == {"p1", "p2"}
    assert len(set(world.server.bound.values())) == 1
    assert world.server.requests[:2] == ["PATCH a", "PATCH a/status"]
    assert len(world.server.claim("a").status.reserved_for) == 2


async def test_a_gang_that_is_kept_away_by_a_claim_frees_it() -> None:
    world = World(Server(one("a"), stuck("b")), Coscheduling())
    world.live.create(pod("p1", "a", labels=GANG), pod("p2", "b", labels=GANG))
    for _ in range(4):
        await world.settle_and_show(5)
    assert world.server.bound.keys() == {"p1", "p2"}


async def test_a_gang_that_does_not_fit_takes_no_device() -> None:
    world = World(Server(one("a"), one("b"), one("c")), Coscheduling())
    gang = GANG | {"pod-group.pilotage.dev/min-available": "3"}
    world.live.create(*(pod(f"p{name}", name, labels=gang) for name in "abc"))
    await world.settle_and_show(30)
    assert not world.server.bound
    assert world.server.requests == []
    world.server.put_claim(one("d"))
    world.show()
    world.live.create(pod("other", "d"))
    await world.settle_and_show(1)
    assert world.server.bound.keys() == {"other"}


@pytest.mark.parametrize("requests", range(14))
@pytest.mark.parametrize("is_last_one_lost", [False, True], ids=["", "and the last answer is lost"])
async def test_a_scheduler_that_dies_after_some_requests_leaves_nothing_behind(
    requests: int, is_last_one_lost: bool
) -> None:
    server = Server(one("a"), one("b"), one("c"))
    pods = [pod("p1", "a"), pod("p2", "b"), pod("p3", "c"), pod("p4", "c")]
    first = World(server, devices=2)
    server.dies_after = requests
    first.live.create(*pods)
    await first.settle()
    assert len(server.requests) <= requests
    server.dies_after = None
    if is_last_one_lost:
        server.before.append(refused)
    second = World(server, devices=2)
    bound = {each.name: each.on(server.bound[each.name]) for each in pods if each.name in server.bound}
    second.live.create(*(bound.get(each.name, each) for each in pods))
    for _ in range(4):
        await second.settle_and_show(5)
    assert server.bound.keys() == {"p1", "p2", "p3", "p4"}
    claims = [server.claim(name) for name in "abc"]
    held = Counter(each.device for claim in claims for each in _results(claim))
    assert set(held.values()) == {1}
    assert sum(held.values()) == 3
    for claim, users in zip(claims, (1, 1, 2), strict=True):
        assert len(claim.status.reserved_for) == users
        assert claim.metadata.finalizers == (DELETE_PROTECTION,)
        (result,) = _results(claim)
        assert {server.bound[each.name] for each in claim.status.reserved_for} == {result.pool}


def _results(claim: ResourceClaim) -> tuple[AllocatedDevice, ...]:
    assert claim.status.allocation is not None
    return claim.status.allocation.devices.results
