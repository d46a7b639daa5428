"""`pilotage profile`: what it sends, that nobody's edit is lost, and what it tells of the outcome."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from click.testing import CliRunner, Result

from pilotage.cli import main
from pilotage.scheduler_profiles.resource import PATH as PROFILES

Manifest = dict[str, Any]
PRIORITY = {"name": "Priority", "weight": 10, "enabled": True}
FIT = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}


class ProfileApi:
    """One SchedulerProfile behind HTTP: JSON patches with `test` and `add`, as an API server takes them."""

    def __init__(self, spec: Manifest | None) -> None:
        self.profile: Manifest = {"metadata": {"name": "batch", "generation": 1, "resourceVersion": "10"}}
        if spec is not None:
            self.profile["spec"] = spec
        self.conditions: Callable[[Manifest], Manifest] = lambda _: {"Accepted": "True", "Ready": "True"}
        self.somebody_else: list[Callable[[Manifest], None]] = []  # each edits once, before a patch arrives
        self.patches = 0
        self.dry_runs = 0

    @property
    def plugins(self) -> list[Manifest]:
        return list(self.profile["spec"]["plugins"])

    def edit(self, change: Callable[[Manifest], None]) -> None:
        change(self.profile["spec"])
        self.profile["metadata"]["generation"] += 1
        self.profile["metadata"]["resourceVersion"] += "1"

    async def handle(self, request: web.Request) -> web.Response:
        if request.path == PROFILES:
            return web.json_response({"items": [self.profile]})
        if request.path != f"{PROFILES}/batch":
            return _refusal(404, "not found")
        if request.method == "GET":
            return web.json_response({**self.profile, "status": self._status()})
        return self._patched(await request.json(), is_dry="dryRun" in request.query)

    def _patched(self, steps: list[Manifest], *, is_dry: bool) -> web.Response:
        if self.somebody_else:
            self.edit(self.somebody_else.pop())
        self.patches += 1
        changed = json.loads(json.dumps(self.profile))
        try:
            for step in steps:
                _apply(changed, step)
        except (AssertionError, KeyError, IndexError) as error:
            return _refusal(422, f"the server rejected our request due to an error in our request: {error}")
        if len({entry["name"] for entry in changed["spec"]["plugins"]}) < len(changed["spec"]["plugins"]):
            return _refusal(422, "spec.plugins: Duplicate value")
        changed["metadata"]["generation"] += 1
        if is_dry:
            self.dry_runs += 1
        else:
            self.profile = changed
        return web.json_response(changed)

    def _status(self) -> Manifest:
        generation = self.profile["metadata"]["generation"]
        said = [
            {"type": kind, "status": status, "observedGeneration": generation, "message": f"about {kind}"}
            for kind, status in self.conditions(self.profile).items()
        ]
        return {"conditions": said, "replicas": "2/2"}


def _apply(changed: Manifest, step: Manifest) -> None:
    *path, last = step["path"].strip("/").split("/")
    place: Any = changed
    for part in path:
        place = place[int(part)] if isinstance(place, list) else place[part]
    if step["op"] == "test":
        assert place[last] == step["value"], "testing value failed"
    elif last == "-":
        place.append(step["value"])
    else:
        place[last] = step["value"]


def _refusal(status: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "message": message}, status=status)


class World:
    """A profile with two entries behind an API server, and the program."""

    def __init__(self, folder: Path) -> None:
        self.api = ProfileApi({"plugins": [dict(FIT), dict(PRIORITY)]})
        self.url, self._kubeconfig = "", folder / "kubeconfig"

    async def run(self, *words: str) -> Result:
        config = {
            "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": self.url}}],
            "users": [{"name": "it", "user": {}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        }
        self._kubeconfig.write_text(yaml.safe_dump(config))
        words = ("profile", *words, "--kubeconfig", str(self._kubeconfig))
        result = await asyncio.to_thread(CliRunner().invoke, main, words)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)

    async def answer(request: web.Request) -> web.Response:
        return await world.api.handle(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    world.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield world
    await runner.cleanup()


async def test_only_one_field_of_one_entry_changes_and_the_change_is_shown(world: World) -> None:
    result = await world.run("disable", "batch", "Priority")
    assert result.exit_code == 0
    assert world.api.plugins == [FIT, {**PRIORITY, "enabled": False}]
    shown, told = result.stdout.splitlines()[:-1], result.stdout.splitlines()[-1]
    assert shown == ["   - name: Priority", "     weight: 10", "-    enabled: true", "+    enabled: false"]
    assert told.startswith("batch: 2/2 replicas run it after ")


async def test_there_and_back_is_what_it_was(world: World) -> None:
    await world.run("disable", "batch", "Priority")
    await world.run("enable", "batch", "Priority")
    assert world.api.plugins == [FIT, PRIORITY]


@pytest.mark.parametrize(
    ("spec", "words", "wanted"),
    [
        pytest.param(
            {"plugins": [FIT]}, ("enable", "Priority"), [FIT, {"name": "Priority"}], id="a plugin without an entry"
        ),
        pytest.param(
            {"plugins": []},
            ("disable", "ImageLocality"),
            [{"name": "ImageLocality", "enabled": False}],
            id="a default plugin without an entry",
        ),
        pytest.param({}, ("enable", "Priority"), [{"name": "Priority"}], id="a spec without a list"),
        pytest.param(None, ("enable", "Priority"), [{"name": "Priority"}], id="a profile without a spec"),
        pytest.param(
            {"base": "None", "plugins": [FIT]},
            ("enable", "NodeName"),
            [FIT, {"name": "NodeName"}],
            id="a default plugin where there is no base",
        ),
    ],
)
async def test_an_entry_is_added(
    world: World, spec: Manifest | None, words: tuple[str, str], wanted: list[Manifest]
) -> None:
    world.api = ProfileApi(json.loads(json.dumps(spec)))
    result = await world.run(words[0], "batch", words[1])
    assert result.exit_code == 0, result.output
    assert world.api.plugins == wanted


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("enable", "Priority"), "Priority is already enabled", id="its entry says so"),
        pytest.param(("enable", "NodeAffinity"), "NodeAffinity is already enabled", id="the base has it"),
        pytest.param(("disable", "QOSSort"), "QOSSort is not enabled", id="nothing names it"),
        pytest.param(("disable", "Priorty"), 'did you mean "Priority"?', id="a name with a letter too few"),
    ],
)
async def test_where_there_is_nothing_to_change_nothing_is_sent(
    world: World, words: tuple[str, str], said: str
) -> None:
    result = await world.run(words[0], "batch", words[1])
    assert result.exit_code == 0
    assert said in result.stdout
    assert world.api.patches == 0


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda spec: spec["plugins"].insert(0, {"name": "NodePorts"}), id="an entry before ours"),
        pytest.param(lambda spec: spec["plugins"].pop(0), id="one entry less"),
        pytest.param(lambda spec: spec["plugins"].append({"name": "QOSSort"}), id="an entry after ours"),
        pytest.param(lambda spec: spec["plugins"][1].update(weight=3), id="another weight"),
    ],
)
async def test_who_edits_at_the_same_time_loses_nothing(world: World, edit: Callable[[Manifest], None]) -> None:
    wanted: Manifest = {"plugins": [dict(FIT), dict(PRIORITY)]}
    edit(wanted)
    next(entry for entry in wanted["plugins"] if entry["name"] == "Priority")["enabled"] = False
    world.api.somebody_else = [edit]
    result = await world.run("disable", "batch", "Priority")
    assert result.exit_code == 0, result.output
    assert world.api.profile["spec"] == wanted


async def test_two_who_add_the_same_entry_have_it_once(world: World) -> None:
    world.api.somebody_else = [lambda spec: spec["plugins"].append({"name": "QOSSort"})]
    result = await world.run("enable", "batch", "QOSSort")
    assert result.exit_code == 0, result.output
    assert [entry["name"] for entry in world.api.plugins] == ["NodeResourcesFit", "Priority", "QOSSort"]


async def test_a_list_that_comes_at_the_same_moment_is_not_replaced(world: World) -> None:
    world.api = ProfileApi({})
    world.api.somebody_else = [lambda spec: spec.update(plugins=[{"name": "QOSSort"}])]
    await world.run("enable", "batch", "Priority")
    assert [entry["name"] for entry in world.api.plugins] == ["QOSSort", "Priority"]


async def test_a_dry_run_asks_the_server_and_keeps_nothing(world: World) -> None:
    result = await world.run("disable", "batch", "Priority", "--dry-run")
    assert result.exit_code == 0
    assert "+    enabled: false" in result.stdout
    assert (world.api.dry_runs, world.api.plugins) == (1, [FIT, PRIORITY])


@pytest.mark.parametrize(
    ("conditions", "code", "said"),
    [
        pytest.param(
            {"Accepted": "False"}, 3, "rejected, and the previous spec keeps running: about Accepted", id="refused"
        ),
        pytest.param(
            {"Accepted": "True", "RolledBack": "True", "Ready": "False"},
            3,
            "rolled back to the last good spec: about RolledBack",
            id="taken back",
        ),
        pytest.param({"Accepted": "True", "Ready": "False"}, 4, "unknown after 0 s: about Ready", id="too slow"),
        pytest.param({}, 4, "unknown after 0 s: no report from the operator yet", id="no operator"),
    ],
)
async def test_what_became_of_it_is_told(world: World, conditions: Manifest, code: int, said: str) -> None:
    world.api.conditions = lambda _: conditions
    result = await world.run("disable", "batch", "Priority", "--timeout", "0.3")
    assert (result.exit_code, said in result.stdout) == (code, True), result.stdout


async def test_it_waits_for_what_is_under_way(world: World) -> None:
    looks: list[int] = []

    def slowly(_: Manifest) -> Manifest:
        looks.append(0)
        return {"Accepted": "True", "Ready": "True" if len(looks) > 4 else "False"}

    world.api.conditions = slowly
    assert (await world.run("disable", "batch", "Priority")).exit_code == 0
    assert len(looks) == 5


async def test_without_waiting_nothing_is_nominated(world: World) -> None:
    world.api.conditions = lambda _: {"Accepted": "False"}
    result = await world.run("disable", "batch", "Priority", "--no-wait")
    assert (result.exit_code, "replicas" in result.stdout) == (0, False)


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        pytest.param("bach", 'there is no SchedulerProfile bach; did you mean "batch"?', id="a typo"),
        pytest.param("other", "there is no SchedulerProfile other; there are: batch", id="another name"),
        pytest.param("../pods", "'../pods' is not a valid name of a SchedulerProfile", id="a path"),
    ],
)
async def test_a_profile_that_is_not_there(world: World, profile: str, said: str) -> None:
    result = await world.run("disable", profile, "Priority")
    assert (result.exit_code, result.stderr.strip()) == (2, said)
    assert world.api.patches == 0


async def test_a_refusal_of_the_server_is_told_in_its_words(world: World) -> None:
    world.api.profile["spec"]["plugins"].append(dict(FIT))  # which the API server of the test refuses from now on
    result = await world.run("disable", "batch", "Priority")
    assert (result.exit_code, result.stderr.strip()) == (
        2,
        "the API server rejected the request: spec.plugins: Duplicate value",
    )
    assert world.api.patches == 1
