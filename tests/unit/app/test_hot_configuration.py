"""A scheduler that follows a ConfigMap: what changes when it does, and what does not."""

import asyncio
import json
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kit.small_api import SmallApi, small_api
from pilotage import app
from pilotage.app import live as module
from pilotage.app import reloading
from pilotage.app.config_follower import IDLE
from pilotage.app.hot_configuration import first_configuration
from pilotage.app.informers import kinds_read
from pilotage.app.live import LOST, Live
from pilotage.app.options import FollowedConfigMap, Options, Serving
from pilotage.app.profile_engines import engines
from pilotage.app.reloading import NeedsRestart
from pilotage.app.running import begun
from pilotage.cluster.credentials.access import find
from pilotage.config.handshake import CONFIGURATION as KEY
from pilotage.config.handshake import HASH, STRATEGY, TROUBLE, TRYING, PluginFile, text_hash, unit_data, unit_hash
from pilotage.telemetry.verbosity import Verbosity
from pilotage.testing import node_manifest, pod_manifest

PATIENCE = 20.0  # seconds until a test gives up
PLACE = FollowedConfigMap("kube-system", "pilotage-config", "kube-system", "me")
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

PLUGINS = '''
from pilotage.framework.api.plugin import STATIC, Filter, Permit, Score
from pilotage.framework.api.verdicts import Rejection, Wait

class OnlyNodesNamed(Filter):
    """Lets pods go to nodes whose name begins in one way."""
    depends_on = STATIC
    same_for_shape = True
    begin: str = ""
    def filter(self, cycle, pod, node):
        return None if node.name.startswith(self.begin) else Rejection(f"not {self.begin}")

class Breaks(Filter):
    """Fails for every pod."""
    def filter(self, cycle, pod, node):
        raise ValueError("broken")

class Patient(Permit):
    """Lets pods wait."""
    def permit(self, cycle, pod, node):
        return Wait(600)
'''


def text_of(*profiles: str) -> str:
    """Return a configuration; a profile is `name` or `name: Plugin {args} ...` in short."""
    return HEAD + "profiles:\n" + "".join(profiles)


def profile(name: str, *plugins: str, begin: str = "", disabled: str = "") -> str:
    enabled = ", ".join(f"{{name: {plugin}}}" for plugin in plugins)
    off = f", disabled: [{{name: {disabled}}}]" if disabled else ""
    config = f"[{{name: OnlyNodesNamed, args: {{begin: {begin}}}}}]" if begin else "[]"
    return (
        f"- schedulerName: {name}\n  plugins: {{multiPoint: {{enabled: [{enabled}]{off}}}}}\n  pluginConfig: {config}\n"
    )


PLAIN = text_of(profile("ours"))


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the rubbish of tests to be collected."""
    monkeypatch.setattr(module, "calm_garbage_collection", lambda: None)


@pytest.fixture
async def api() -> AsyncIterator[SmallApi]:
    async with small_api() as running:
        for name in ("a1", "b1"):
            running.put("nodes", node_manifest(name))
        running.put("pods", pod_manifest("me", namespace="kube-system", node="a1"))
        yield running


def write(api: SmallApi, text: str, **annotations: str) -> str:
    """Put the configuration into the ConfigMap; returns its hash."""
    metadata = {"name": PLACE.name, "namespace": PLACE.namespace, "annotations": annotations}
    api.put("configmaps", {"metadata": metadata, "data": {KEY: text}})
    return text_hash(text)


def told(api: SmallApi) -> tuple[str | None, dict[str, Any]]:
    """Return which configuration runs and what the trouble is, as the scheduler's own pod tells."""
    annotations = api.objects["pods"]["kube-system/me"]["metadata"].get("annotations", {})
    return annotations.get(HASH), json.loads(annotations.get(TROUBLE, "{}"))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - nobody tells when a server was asked
            await asyncio.sleep(0.01)


class World:
    """A scheduler that works, and its API server."""

    def __init__(self, api: SmallApi, live: Live) -> None:
        self.api, self.live = api, live
        self.stopped = asyncio.Event()
        self.task = asyncio.create_task(live.run(self.stopped))

    async def runs(self, text: str, **annotations: str) -> None:
        wanted = write(self.api, text, **annotations)
        await until(lambda: told(self.api) == (wanted, {}))

    def create(self, name: str, scheduler: str = "ours", **fields: Any) -> None:
        self.api.put("pods", pod_manifest(name, scheduler=scheduler, **fields))

    def node_of(self, name: str) -> str:
        return str(self.api.objects["pods"][f"default/{name}"]["spec"].get("nodeName") or "")


@asynccontextmanager
async def following(api: SmallApi, folder: Path) -> AsyncIterator[World]:
    (folder / "plugins.py").write_text(textwrap.dedent(PLUGINS))
    options = Options(
        master=api.url,
        config_map=PLACE,
        leader_election={"leader_elect": False},
        serving=Serving(secure_port=0),
    )
    ready, first = await first_configuration(
        app.configured(None, [str(folder)], enable=False), PLACE, find("", master=api.url), "test"
    )
    world = World(api, Live(ready, options, Verbosity(), followed=first))
    try:
        yield world
    finally:
        world.stopped.set()
        await asyncio.wait([world.task], timeout=PATIENCE)


async def test_it_starts_with_the_text_that_is_there(api: SmallApi, tmp_path: Path) -> None:
    wanted = write(api, PLAIN)
    async with following(api, tmp_path) as world:
        world.create("web")
        await until(lambda: world.node_of("web"))
        await until(lambda: told(api) == (wanted, {}))
        assert list(world.live.core.engines) == ["ours"]


async def test_without_a_config_map_it_serves_nobody_and_is_not_ready(api: SmallApi, tmp_path: Path) -> None:
    async with following(api, tmp_path) as world:
        world.create("web", "default-scheduler")
        world.create("mine")
        await until(lambda: world.live.is_ready)
        await asyncio.sleep(0.2)
        assert api.bindings == []
        assert world.live.hot
        assert world.live.hot.missing()
        await world.runs(PLAIN)
        await until(lambda: world.node_of("mine"))
        assert world.live.hot.missing() is None
        assert world.node_of("web") == ""


async def test_pods_created_after_a_change_follow_it(api: SmallApi, tmp_path: Path) -> None:
    write(api, PLAIN)
    async with following(api, tmp_path) as world:
        for turn, begin in enumerate(["a", "b", "a", "b"]):
            await world.runs(text_of(profile("ours", "OnlyNodesNamed", begin=begin)))
            world.create(f"web-{turn}")
            await until(partial(world.node_of, f"web-{turn}"))
            assert world.node_of(f"web-{turn}") == f"{begin}1"
        assert world.live.hot
        assert world.live.hot.following.swaps == 4


async def test_a_pod_that_a_policy_rejected_gets_its_try_under_the_next(api: SmallApi, tmp_path: Path) -> None:
    write(api, text_of(profile("ours", "OnlyNodesNamed", begin="z")))
    async with following(api, tmp_path) as world:
        world.create("web")
        await until(lambda: [event for event in api.events if event["reason"] == "FailedScheduling"])
        await world.runs(PLAIN)
        await until(lambda: world.node_of("web"))


async def test_a_profile_comes_and_goes_with_its_pods(api: SmallApi, tmp_path: Path) -> None:
    write(api, PLAIN)
    async with following(api, tmp_path) as world:
        world.create("early", "later")
        world.create("huge", "later", cpu="999")
        await world.runs(text_of(profile("ours"), profile("later")))
        await until(lambda: world.node_of("early"))
        await until(lambda: world.live.core.queue.find("default/huge"))
        await world.runs(PLAIN)
        assert world.live.core.queue.find("default/huge") is None  # nobody serves it; it stays in the cluster
        assert "default/huge" in api.objects["pods"]
        world.create("alone", "later")
        world.create("web")
        await until(lambda: world.node_of("web"))
        assert world.node_of("alone") == ""
        await world.runs(text_of(profile("ours"), profile("later")))
        await until(lambda: world.node_of("alone"))


@pytest.mark.parametrize(
    ("given", "first"),
    [
        pytest.param(profile("later"), "any", id="without a plugin who came first"),
        pytest.param(profile("later", "QOSSort", disabled="PrioritySort"), "bank", id="with one whom it prefers"),
    ],
)
async def test_pods_that_were_there_before_their_profile_are_sorted_before_any_is_tried(
    api: SmallApi, tmp_path: Path, given: str, first: str
) -> None:
    api.put("nodes", node_manifest("one", pods=1))
    write(api, PLAIN)
    async with following(api, tmp_path) as world:
        amounts = {"cpu": "1", "memory": "1Gi"}
        there: dict[str, Any] = {"node_selector": {"kubernetes.io/hostname": "one"}}
        world.create("any", "later", **there)
        world.create("bank", "later", **there, **amounts, limits=amounts)
        await until(lambda: {"default/any", "default/bank"} <= world.live.watching.pods.objects.keys())
        await world.runs(text_of(given))
        await until(lambda: world.node_of("any") or world.node_of("bank"))
        assert world.node_of(first) == "one"


async def test_others_have_their_turn_between_any_two_profiles_that_are_made_ready(
    api: SmallApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with following(api, tmp_path) as world:
        turns, when = 0, list[int]()

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        def noted(*args: Any) -> Any:
            when.append(turns)
            return engines(*args)

        monkeypatch.setattr(reloading, "LONGEST_SLICE", 0.0)
        monkeypatch.setattr(reloading, "engines", noted)
        counting = asyncio.create_task(count())
        await world.runs(text_of(*(profile(f"s{number}") for number in range(20))))
        counting.cancel()
        assert len(set(when)) == 20


async def test_plugins_whose_arguments_stay_the_same_stay(api: SmallApi, tmp_path: Path) -> None:
    write(api, text_of(profile("ours", "OnlyNodesNamed", begin="a"), profile("other")))
    async with following(api, tmp_path) as world:
        await until(lambda: told(api)[0])
        before = dict(world.live.core.engines)
        await world.runs(text_of(profile("ours", "OnlyNodesNamed", begin="b"), profile("other")))
        after = world.live.core.engines
        assert after["other"] is before["other"]
        assert after["ours"] is not before["ours"]
        old, new = (engine.runner.plugin_set.plugins() for engine in (before["ours"], after["ours"]))
        assert {name for name in new if new[name] is not old[name]} == {"OnlyNodesNamed"}


async def test_pods_that_wait_for_a_permission_stay_where_they_are(api: SmallApi, tmp_path: Path) -> None:
    write(api, text_of(profile("ours", "Patient")))
    async with following(api, tmp_path) as world:
        world.create("gang")
        await until(lambda: len(world.live.core.waiting))
        await world.runs(PLAIN)
        [waiting] = world.live.core.waiting
        assert world.live.core.cache.is_assumed(waiting.pod.uid)
        waiting.allow("Patient")
        await until(lambda: world.node_of("gang"))
        assert world.node_of("gang") == waiting.pod.node_name


async def test_what_the_policy_of_before_decided_is_bound_before_the_next_is_acknowledged(
    api: SmallApi, tmp_path: Path
) -> None:
    write(api, text_of(profile("ours", "OnlyNodesNamed", begin="a")))
    async with following(api, tmp_path) as world:
        await until(lambda: told(api)[0])
        gate = api.held["/binding"] = asyncio.Event()
        world.create("slow")
        await until(lambda: len(world.live.core.bindings))
        wanted = write(api, text_of(profile("ours", "OnlyNodesNamed", begin="b")))
        await until(lambda: world.live.core.engines["ours"].runner.plugin_set.plugins()["OnlyNodesNamed"].begin == "b")  # type: ignore[attr-defined]
        await asyncio.sleep(0.2)
        assert told(api)[0] != wanted
        gate.set()
        del api.held["/binding"]
        await until(lambda: told(api) == (wanted, {}))
        assert world.node_of("slow") == "a1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("profiles: {", "", id="no YAML"),
        pytest.param(text_of(profile("ours", "Nonsense")), "Nonsense", id="a plugin that there is not"),
        pytest.param(text_of(profile("ours", "OnlyNodesNamed", begin="[]")), "begin", id="an argument of a wrong type"),
        pytest.param(text_of(profile("ours"), profile("ours")), "ours", id="two profiles of one name"),
        pytest.param("", "there is no", id="nothing at all"),
    ],
)
async def test_a_wrong_text_is_refused_whole(api: SmallApi, tmp_path: Path, text: str, message: str) -> None:
    good = write(api, PLAIN)
    async with following(api, tmp_path) as world:
        await until(lambda: told(api) == (good, {}))
        wrong = write(api, text)
        await until(lambda: told(api)[1])
        running, trouble = told(api)
        assert running == good
        assert (trouble["kind"], trouble["hash"]) == ("refused", wrong)
        assert message in trouble["message"]
        world.create("web")
        await until(lambda: world.node_of("web"))
        await world.runs(PLAIN)  # and what is right again is told to be so


async def test_a_wrong_text_at_the_start_is_waited_out(api: SmallApi, tmp_path: Path) -> None:
    wrong = write(api, "profiles: [")
    async with following(api, tmp_path) as world:
        await until(lambda: told(api)[1])
        assert told(api)[1]["hash"] == wrong
        await world.runs(PLAIN)


async def test_a_config_map_that_is_deleted_changes_nothing(api: SmallApi, tmp_path: Path) -> None:
    good = write(api, PLAIN)
    async with following(api, tmp_path) as world:
        await until(lambda: told(api) == (good, {}))
        api.delete("configmaps", PLACE.name, PLACE.namespace)
        world.create("web")
        await until(lambda: world.node_of("web"))
        assert told(api) == (good, {})


async def test_what_is_to_come_with_a_restart_does_not_come_before(api: SmallApi, tmp_path: Path) -> None:
    good = write(api, PLAIN)
    async with following(api, tmp_path) as world:
        await until(lambda: told(api) == (good, {}))
        write(api, text_of(profile("ours", "OnlyNodesNamed", begin="b")), **{STRATEGY: "Restart"})
        await asyncio.sleep(0.3)
        world.create("web")
        await until(lambda: world.node_of("web"))
        assert told(api) == (good, {})


EXTENDED = PLAIN + "extenders: [{urlPrefix: 'http://127.0.0.1:1', filterVerb: filter, ignorable: true}]\n"


async def test_what_needs_a_new_process_says_so(api: SmallApi, tmp_path: Path) -> None:
    good = write(api, PLAIN)
    async with following(api, tmp_path):
        await until(lambda: told(api) == (good, {}))
        wanted = write(api, EXTENDED)
        await until(lambda: told(api)[1])
        assert told(api)[0] == good
        assert (told(api)[1]["kind"], told(api)[1]["hash"]) == ("restart", wanted)
        assert "extenders" in told(api)[1]["message"]


async def test_what_needs_a_new_process_ends_one_that_serves_nobody(
    api: SmallApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with following(api, tmp_path) as world:
        await until(lambda: world.live.is_ready)
        write(api, EXTENDED)
        async with asyncio.timeout(PATIENCE):
            assert await world.task == LOST
    assert NeedsRestart.__name__ in caplog.text


async def test_a_plugin_that_fails_for_every_pod_is_told(api: SmallApi, tmp_path: Path) -> None:
    write(api, PLAIN)
    async with following(api, tmp_path) as world:
        world.create("fine")
        await until(lambda: world.node_of("fine"))
        broken = text_hash(text_of(profile("ours", "Breaks")))
        # First: pods that came before the configuration would be placed as before, and nothing would fail.
        await world.runs(text_of(profile("ours", "Breaks")))
        for number in range(4):
            world.create(f"web-{number}")
        await until(lambda: told(api)[1])
        running, trouble = told(api)
        assert running == broken
        assert {key: trouble[key] for key in ("kind", "hash", "schedulerName", "plugin")} == {
            "kind": "failing",
            "hash": broken,
            "schedulerName": "ours",
            "plugin": "Breaks",
        }
        assert "broken" in trouble["message"]
        await world.runs(PLAIN)
        await until(lambda: all(world.node_of(f"web-{number}") for number in range(4)))


async def test_metrics_and_configz_show_what_runs(api: SmallApi, tmp_path: Path) -> None:
    write(api, PLAIN)
    async with following(api, tmp_path) as world:
        await world.runs(text_of(profile("ours"), profile("more")))
        text = world.live.metrics.text().decode()
        running = text_hash(text_of(profile("ours"), profile("more")))
        assert f'pilotage_config_info{{hash="{running}"}} 1' in text
        assert "pilotage_config_swaps_total 1" in text
        assert "pilotage_config_refusals_total 0" in text
        assert [each.scheduler_name for each in world.live.running_config().profiles] == ["ours", "more"]


def test_idle_is_a_configuration_that_reads_nothing() -> None:
    profiles = app.configured(IDLE).profiles()
    assert list(profiles) == ["idle.pilotage.dev"]
    assert kinds_read(profiles) == set()


SCORES = """
from pilotage.framework.api.plugin import STATIC, Score


class Ending(Score):
    depends_on = STATIC

    def score(self, cycle, pod, node):
        return 100 if node.name.startswith("{letter}") else 0
"""


def write_unit(api: SmallApi, text: str, files: dict[str, list[PluginFile]]) -> str:
    """Put a configuration and its plugin files into the ConfigMap; returns the hash of both."""
    data = unit_data(text, {name: tuple(used) for name, used in files.items()})
    api.put("configmaps", {"metadata": {"name": PLACE.name, "namespace": PLACE.namespace}, "data": data})
    return unit_hash(data)


def scores(letter: str) -> PluginFile:
    return PluginFile("mine/ending.py", SCORES.format(letter=letter))


async def test_plugin_files_come_and_change_with_the_configuration(api: SmallApi, tmp_path: Path) -> None:
    text = text_of(profile("ours", "Ending"), profile("theirs"))
    first = write_unit(api, text, {"ours": [scores("a")]})
    async with following(api, tmp_path) as world:
        await until(lambda: told(api) == (first, {}))
        world.create("one")
        await until(lambda: world.node_of("one"))
        assert world.node_of("one") == "a1"
        second = write_unit(api, text, {"ours": [scores("b")]})
        assert first != second
        await until(lambda: told(api) == (second, {}))
        world.create("two")
        await until(lambda: world.node_of("two"))
        assert world.node_of("two") == "b1"
        annotations = api.objects["pods"]["kube-system/me"]["metadata"]["annotations"]
        assert TRYING not in annotations, "it is built"


async def test_two_profiles_run_two_texts_of_one_file(api: SmallApi, tmp_path: Path) -> None:
    text = text_of(profile("ours", "Ending"), profile("theirs", "Ending"))
    both = write_unit(api, text, {"ours": [scores("a")], "theirs": [scores("b")]})
    async with following(api, tmp_path) as world:
        await until(lambda: told(api) == (both, {}))
        world.create("one", "ours")
        world.create("two", "theirs")
        await until(lambda: world.node_of("one") and world.node_of("two"))
        assert (world.node_of("one"), world.node_of("two")) == ("a1", "b1")


async def test_the_plugin_of_a_file_that_stays_keeps_what_it_remembers(api: SmallApi, tmp_path: Path) -> None:
    text = text_of(profile("ours", "Ending"))
    first = write_unit(api, text, {"ours": [scores("a")]})
    async with following(api, tmp_path) as world:
        await until(lambda: told(api) == (first, {}))
        before = world.live.profiles["ours"].plugin_set.plugins()["Ending"]
        more = write_unit(api, text_of(profile("ours", "Ending"), profile("more")), {"ours": [scores("a")]})
        await until(lambda: told(api) == (more, {}))
        assert world.live.profiles["ours"].plugin_set.plugins()["Ending"] is before


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param({}, "Ending", id="without its file the plugin is not known"),
        pytest.param({"theirs": [scores("a")]}, "Ending", id="nor with the file of another profile"),
        pytest.param({"ours": [PluginFile("mine/x.py", "import sys; sys.exit(1)")]}, "SystemExit", id="it exits"),
    ],
)
async def test_a_unit_that_cannot_be_built_is_refused(
    api: SmallApi, tmp_path: Path, files: dict[str, list[PluginFile]], message: str
) -> None:
    good = write(api, PLAIN)
    async with following(api, tmp_path):
        await until(lambda: told(api) == (good, {}))
        wrong = write_unit(api, text_of(profile("ours", "Ending"), profile("theirs")), files)
        await until(lambda: told(api)[1])
        running, trouble = told(api)
        assert (running, trouble["kind"], trouble["hash"]) == (good, "refused", wrong)
        assert message in trouble["message"]


async def test_a_unit_whose_file_was_changed_by_hand_is_refused(api: SmallApi, tmp_path: Path) -> None:
    data = unit_data(text_of(profile("ours", "Ending")), {"ours": (scores("a"),)})
    data[scores("a").key] = SCORES.format(letter="b")
    good = write(api, PLAIN)
    async with following(api, tmp_path):
        await until(lambda: told(api) == (good, {}))
        api.put("configmaps", {"metadata": {"name": PLACE.name, "namespace": PLACE.namespace}, "data": data})
        await until(lambda: told(api)[1])
        assert "does not match its name" in told(api)[1]["message"]


async def test_a_file_that_does_not_come_to_an_end_is_refused_and_holds_nobody_up_for_long(
    api: SmallApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilotage.plugins.catalogue.LONGEST_IMPORT", 0.1)
    good = write(api, PLAIN)
    async with following(api, tmp_path) as world:
        await until(lambda: told(api) == (good, {}))
        write_unit(api, text_of(profile("ours", "Ending")), {"ours": [PluginFile("mine/x.py", "while True: pass")]})
        await until(lambda: told(api)[1])
        assert "importing mine/x.py did not finish within 0.1s" in told(api)[1]["message"]
        world.create("one")
        await until(lambda: world.node_of("one"))


# ------------------------------------------------------------------------------------ plugins that cannot begin

NO_BEGINNING = '''
from pathlib import Path
from pilotage.plugins.load._shared.load_aware import LoadAware
from pilotage.framework.api.plugin import Score

class Unable(Score):
    """Cannot begin while a file is there."""
    file: str = "FILE"
    def score(self, cycle, pod, node):
        return 0
    def start(self, handle):
        if Path(self.file).exists():
            raise RuntimeError("not now")

class Unconnected(LoadAware):
    """Gives up after it was given figures while a file is there."""
    file: str = "FILE"
    def score(self, cycle, pod, node):
        return 0
    def start(self, handle):
        super().start(handle)
        if Path(self.file).exists():
            raise RuntimeError("not now")

class Unmade(Score):
    """Cannot be made while a file is there."""
    def score(self, cycle, pod, node):
        return 0
    def __post_init__(self):
        if Path("FILE").exists():
            raise RuntimeError("not now")
'''


@asynccontextmanager
async def starting(api: SmallApi, folder: Path) -> AsyncIterator[World]:
    """The same as in a process of its own."""
    (folder / "plugins.py").write_text(NO_BEGINNING.replace("FILE", str(folder / "no")))
    options = Options(
        master=api.url, config_map=PLACE, leader_election={"leader_elect": False}, serving=Serving(secure_port=0)
    )
    known = app.configured(None, [str(folder)], enable=False)
    ready, first = await first_configuration(known, PLACE, find("", master=api.url), "test")
    assert first is not None
    world = World(api, begun(ready, options, Verbosity(), first))
    try:
        yield world
    finally:
        world.stopped.set()
        await asyncio.wait([world.task], timeout=PATIENCE)


@pytest.mark.parametrize("plugin", ["Unable", "Unmade", "Unconnected"])
async def test_a_profile_that_cannot_begin_is_left_out_and_told(api: SmallApi, tmp_path: Path, plugin: str) -> None:
    wanted = write(api, text_of(profile("theirs", plugin), profile("ours")))
    (tmp_path / "no").touch()
    async with starting(api, tmp_path) as world:
        world.create("web")
        world.create("waits", "theirs")
        await until(lambda: world.node_of("web"))
        await until(lambda: told(api)[1])
        running, trouble = told(api)
        assert running == wanted
        assert (trouble["kind"], trouble["schedulerName"]) == ("failing", "theirs")
        assert trouble["plugin"] == plugin
        assert "RuntimeError: not now" in trouble["message"]
        assert world.node_of("waits") == ""
        # A change of another profile does not wait for it, and it is still told of.
        second = write(api, text_of(profile("theirs", plugin), profile("ours"), profile("more")))
        await until(lambda: told(api)[0] == second)
        await until(lambda: told(api)[1].get("hash") == second)
        assert (told(api)[1]["kind"], told(api)[1]["schedulerName"]) == ("failing", "theirs")
        world.create("another", "more")
        await until(lambda: world.node_of("another"))
        # As soon as it can begin, it is served.
        (tmp_path / "no").unlink()
        await world.runs(text_of(profile("theirs", plugin), profile("ours")))
        await until(lambda: world.node_of("waits"))


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        pytest.param("Unable", "Unable cannot start: RuntimeError: not now", id="at once"),
        pytest.param("Unconnected", "Unconnected cannot start: RuntimeError: not now", id="with a source"),
    ],
)
async def test_a_change_to_a_profile_that_cannot_begin_is_refused_by_its_name(
    api: SmallApi, tmp_path: Path, plugin: str, message: str
) -> None:
    good = write(api, text_of(profile("theirs"), profile("ours")))
    (tmp_path / "no").touch()
    async with starting(api, tmp_path) as world:
        await until(lambda: told(api) == (good, {}))
        write(api, text_of(profile("theirs", plugin), profile("ours")))
        await until(lambda: told(api)[1])
        assert told(api)[1]["kind"] == "refused"
        assert told(api)[1]["message"].startswith(f"profile theirs: {message}")
        world.create("web", "theirs")
        await until(lambda: world.node_of("web"))


async def test_where_no_profile_can_begin_nobody_is_served_until_one_can(api: SmallApi, tmp_path: Path) -> None:
    write(api, text_of(profile("ours", "Unable")))
    (tmp_path / "no").touch()
    async with starting(api, tmp_path) as world:
        await until(lambda: told(api)[1])
        assert (told(api)[0], told(api)[1]["kind"]) == (None, "refused")
        (tmp_path / "no").unlink()
        await world.runs(text_of(profile("ours", "Unable"), profile("more")))
