"""The task that acts: woken by changes, patient with a server in trouble, stopped by nobody's fault."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kit.profile_world import Conflict, ProfileWorld
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.cluster import NotReachable, Refused, Seen, WorldChanged
from pilotage_operator.profiles.actions import Action, CreateProfile, PatchStatus
from pilotage_operator.profiles.unit_judge import UnitJudge
from pilotage_operator.profiles.world import Answer, Right
from pilotage_operator.reconciler import Reconciler
from pilotage_operator.values import ValuesFile

JUDGE = UnitJudge(Judge(built_in()))


class Api:
    """The cluster in memory, which can be told to fail."""

    def __init__(self, world: ProfileWorld) -> None:
        self.world = world
        self.looks = 0
        self.failures: list[Exception] = []
        self.refuses = ""  # the name of a profile that cannot be written

    async def read_state(self, *, with_owner: bool) -> Seen:
        self.looks += 1
        if self.failures:
            raise self.failures.pop(0)
        found = self.world.world()
        versions = {("SchedulerProfile", each.name): each.metadata.resource_version for each in found.profiles}
        return Seen(found.profiles, found.config_map, found.deployment, found.replicas, found.owner, versions=versions)

    async def rights(self, wanted: Collection[Right]) -> Mapping[Right, Answer]:
        return dict.fromkeys(wanted, "allowed")

    async def do(self, action: Action) -> None:
        if isinstance(action, CreateProfile) and self.refuses == action.manifest["metadata"]["name"]:
            raise Refused("no")
        if isinstance(action, PatchStatus) and action.name == self.refuses:
            raise Refused("no")
        try:
            self.world.do(action)
        except Conflict as error:
            raise WorldChanged(str(error)) from error


@asynccontextmanager
async def running(api: Api) -> AsyncIterator[Reconciler]:
    reconciler = Reconciler(api.world.settings, api, JUDGE, ValuesFile(None))
    task = asyncio.create_task(reconciler.run())
    yield reconciler
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def api() -> Api:
    return Api(ProfileWorld())


@pytest.mark.looptime
async def test_a_change_is_acted_upon_within_milliseconds(api: Api) -> None:
    async with running(api) as reconciler:
        await asyncio.sleep(1)
        api.world.put("p", {})
        reconciler.something_changed()
        await asyncio.sleep(0.02)
        assert "p" in api.world.served


@pytest.mark.looptime
async def test_without_any_change_it_looks_now_and_then(api: Api) -> None:
    async with running(api):
        await asyncio.sleep(100)
        assert 9 <= api.looks <= 12


@pytest.mark.looptime
async def test_many_changes_are_one_round(api: Api) -> None:
    async with running(api) as reconciler:
        await asyncio.sleep(1)
        before = api.looks
        for _ in range(50):
            reconciler.something_changed()
            await asyncio.sleep(0.0001)
        await asyncio.sleep(0.1)
        assert api.looks - before <= 2


@pytest.mark.looptime
@pytest.mark.parametrize("failure", [NotReachable("gone"), WorldChanged("changed"), Refused("no"), RuntimeError("oh")])
async def test_a_failure_is_tried_again_ever_more_slowly(api: Api, failure: Exception) -> None:
    api.failures = [failure] * 40
    async with running(api) as reconciler:
        for _ in range(600):
            reconciler.something_changed()
            await asyncio.sleep(1)
        assert 10 <= api.looks <= 45
        api.failures = []
        api.world.put("p", {})
        await asyncio.sleep(31)
        assert "p" in api.world.served


@pytest.mark.looptime
async def test_the_server_says_when_to_come_back(api: Api) -> None:
    api.failures = [NotReachable("busy", retry_after=12)]
    async with running(api):
        await asyncio.sleep(11)
        assert api.looks == 1
        await asyncio.sleep(2)
        assert api.looks == 2


@pytest.mark.looptime
async def test_a_profile_that_cannot_be_written_stops_no_other(api: Api) -> None:
    api.world.put("p", {})
    api.world.put("q", {})
    api.refuses = "p"
    async with running(api):
        await asyncio.sleep(1)
        assert set(api.world.served) == {"p", "q"}
        assert api.world.status("q")["conditions"]


@pytest.mark.looptime
async def test_a_profile_of_the_values_that_nobody_takes_stops_no_other(api: Api, tmp_path: Path) -> None:
    file = tmp_path / "profiles.yaml"
    file.write_text("[{name: kept, spec: {}}]")
    api.refuses = "kept"
    api.world.put("p", {})
    reconciler = Reconciler(api.world.settings, api, JUDGE, ValuesFile(file))
    await reconciler.round()
    assert set(api.world.served) == {"p"}


async def test_it_is_well_while_rounds_end_and_watchers_hear(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("pilotage_operator.reconciler.monotonic", lambda: now)
    api.world.put("p", {})
    reconciler = Reconciler(api.world.settings, api, JUDGE, ValuesFile(None))
    await reconciler.round()
    assert reconciler.trouble() == ""
    now = 110.0
    assert "watches missed" in reconciler.trouble()
    for key, version in _reported(api):
        reconciler.watch_lag.reported(key, version)
    assert reconciler.trouble() == ""
    now = 130.0
    assert "no reconciliation" in reconciler.trouble()


def _reported(api: Api) -> list[Any]:
    world = api.world.world()
    found: list[Any] = [(("SchedulerProfile", each.name), each.metadata.resource_version) for each in world.profiles]
    assert world.deployment is not None
    return [*found, (("Deployment", world.deployment.metadata.name), world.deployment.metadata.resource_version)]
