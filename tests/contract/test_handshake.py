"""What operator and scheduler say to each other is spelled in one place, and each reads what the other writes."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pilotage.app import plugin_watch
from pilotage.app.config_follower import Following
from pilotage.app.plugin_watch import PluginWatch
from pilotage.app.reloading import NeedsRestart
from pilotage.cluster.watch.config_map import ConfigMap
from pilotage.config import handshake
from pilotage.config.handshake import Contention, PluginFile, Report, Trouble, Unit, contended, unit_in
from pilotage.framework.runtime.watchdog import WATCHDOG
from pilotage.model.metadata import Metadata
from pilotage.plugins.catalogue import BrokenPlugin
from pilotage_operator.profiles import config_map
from pilotage_operator.profiles import world as seen
from pilotage_operator.settings import settings_for

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("scheduler/src/**/*.py"), *ROOT.glob("operator/src/**/*.py")])
# The small plugin cannot import who owns them; test_kubectl_answers.py compares.
SPELLED_AGAIN = ROOT / "scheduler/src/pilotage/cluster/kubectl/names.py"
HANDSHAKE = ROOT / "scheduler/src/pilotage/config/handshake.py"
NAME = re.compile(r"[a-z.-]*pilotage\.dev/[A-Za-z0-9-]+")
# What only `handshake` puts together and takes apart: both sides call it instead of naming these.
ITS_OWN = {"TROUBLE", "TRYING", "CONTENDED", "CERTIFICATE"}
ConditionState = dict[str, str | None]


# ---------------------------------------------------------------------------------------------------- one place


def texts_in(path: Path) -> Iterator[str]:
    """Return the texts in the code of a module, without its docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {id(first.value) for first in map(_first, ast.walk(tree)) if isinstance(first, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def _first(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
        return node.body[0]
    return None


def test_every_name_of_ours_is_spelled_once() -> None:
    paths = [path for path in SOURCES if path != SPELLED_AGAIN]
    spelled = Counter(name for path in paths for text in texts_in(path) for name in NAME.findall(text))
    assert len(spelled) > 15
    assert {name for name, times in spelled.items() if times > 1} == set()


def test_names_of_the_handshake_are_spelled_in_it() -> None:
    texts = set(texts_in(HANDSHAKE))
    assert {handshake.HASH, handshake.TROUBLE, handshake.TRYING, handshake.CONTENDED, handshake.STRATEGY} <= texts


def test_neither_side_writes_or_reads_a_report_by_itself() -> None:
    # A module that does either has the word.
    texts = [(path.name, text) for path in SOURCES if "handshake" in (text := path.read_text())]
    nodes = [(name, node) for name, text in texts for node in ast.walk(ast.parse(text))]
    guilty = {
        (path, name.name)
        for path, node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == handshake.__name__
        for name in node.names
        if name.name in ITS_OWN
    }
    named = {
        (path, node.attr)
        for path, node in nodes
        if isinstance(node, ast.Attribute) and node.attr in ITS_OWN and ast.unparse(node.value) == "handshake"
    }
    assert guilty | named == set()


def test_no_map_has_the_keys_of_a_report() -> None:
    keys = [{"kind", "hash", "message"}, {"binds", "rejections"}]
    guilty = [
        path.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Dict | ast.Tuple | ast.List | ast.Set)
        and any(wanted <= set(_constants(node)) for wanted in keys)
    ]
    assert guilty == []


def _constants(node: ast.Dict | ast.Tuple | ast.List | ast.Set) -> list[Any]:
    parts = node.keys if isinstance(node, ast.Dict) else node.elts
    return [part.value for part in parts if isinstance(part, ast.Constant)]


def test_neither_side_makes_hashes_by_itself() -> None:
    sides = [path for path in SOURCES if "pilotage/app" in path.as_posix() or "pilotage_operator" in path.as_posix()]
    assert len(sides) > 50
    assert [path.name for path in sides if "hashlib" in path.read_text()] == []


# ------------------------------------------------------------------- what the scheduler writes, the operator reads


class Reloading:
    """Applies a unit, or fails as it is told."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure, self.units = failure, list[Unit]()

    async def apply(self, unit: Unit) -> None:
        self.units.append(unit)
        if self.failure is not None:
            raise self.failure


def replica(said: Mapping[str, str | None]) -> seen.Replica:
    """Return what the operator sees of a pod with such annotations."""
    kept = {key: value for key, value in said.items() if value is not None}
    metadata = seen.Metadata(name="s", annotations=kept)
    return seen.replicas_among([seen.SchedulerPod(metadata, seen.PodStatus("Running"))], None)[0]


def given(text: str, files: Mapping[str, tuple[PluginFile, ...]], strategy: str = "HotReload") -> ConfigMap:
    """Return what the scheduler hears of the ConfigMap that the operator writes."""
    data = config_map.content(text, files, "{}", {})
    said = config_map.annotations(data, strategy, "2030-01-01T00:00:00Z")
    created = config_map.change(settings_for("sys", "pilot"), None, None, data, said)
    assert created is not None
    manifest = created.manifest  # type: ignore[union-attr] # there was none
    metadata = Metadata(name=manifest["metadata"]["name"], annotations=manifest["metadata"]["annotations"])
    return ConfigMap(metadata, data=manifest["data"])


FILES = {"ours": (PluginFile("mine/name_score.py", "x = 1\n"),)}
CONFIGURATION = "kind: KubeSchedulerConfiguration\n"
WANTED = given(CONFIGURATION, FILES)
STAMP = WANTED.metadata.annotations[handshake.HASH]


async def heard_by_the_operator(failure: Exception | None, running: str = "before") -> tuple[seen.Replica, Reloading]:
    said: ConditionState = {}
    reloading = Reloading(failure)
    following = Following(reloading, said.update)
    following.begin_with(running)
    await following._follow(WANTED)
    return replica(said), reloading


async def test_what_runs_is_acknowledged_with_the_hash_that_the_operator_wrote() -> None:
    found, reloading = await heard_by_the_operator(None)
    assert (found.hash, found.trouble, found.trying) == (STAMP, None, "")
    assert reloading.units == [Unit(CONFIGURATION, FILES)], "the very texts and paths"
    assert unit_in(WANTED.data) == Unit(CONFIGURATION, FILES)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        pytest.param(BrokenPlugin("no such plugin: Ünknown"), handshake.REFUSED, id="what cannot run"),
        pytest.param(NeedsRestart("the port changed"), handshake.NEEDS_RESTART, id="what needs new pods"),
    ],
)
async def test_what_does_not_run_is_told_with_its_hash(failure: Exception, kind: str) -> None:
    found, _ = await heard_by_the_operator(failure)
    assert (found.hash, found.trying) == ("before", "")
    assert found.trouble == Trouble(kind=kind, hash=STAMP, message=str(failure))


async def test_a_restart_is_left_to_new_pods() -> None:
    said: ConditionState = {}
    reloading = Reloading()
    following = Following(reloading, said.update)
    following.begin_with("before")
    await following._follow(given(CONFIGURATION, {}, handshake.RESTART))
    assert (replica(said).hash, reloading.units) == ("before", [])


async def test_what_is_about_to_be_built_is_told_before() -> None:
    said: ConditionState = {}
    during: list[str] = []

    class Looking(Reloading):
        async def apply(self, unit: Unit) -> None:
            during.append(replica(said).trying)

    await Following(Looking(), said.update)._follow(WANTED)
    assert (during, replica(said).trying) == ([STAMP], "")


async def test_a_plugin_that_fails_for_every_pod_is_told_with_its_profile() -> None:
    said: ConditionState = {}
    following = Following(Reloading(), said.update)
    following.begin_with("h")
    following.report_failing("ours", "NameScore", "x" * 100_000)
    about = {"scheduler_name": "ours", "plugin": "NameScore"}
    assert replica(said).trouble == Trouble(kind=handshake.FAILING, hash="h", message="x" * 1000, **about)
    assert len(said[handshake.TROUBLE] or "") < 5000, "annotations have a limit that all of them share"
    following.report_recovered()
    assert (replica(said).hash, replica(said).trouble) == ("h", None)


def test_a_plugin_that_holds_a_replica_up_is_told_from_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    said: ConditionState = dict(handshake.running("h"))

    async def annotate_once(_client: object, _namespace: str, _name: str, annotations: Mapping[str, Any]) -> None:
        said.update(annotations)

    class Client:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        async def close(self) -> None:
            pass

    monkeypatch.setattr(plugin_watch, "annotate_once", annotate_once)
    monkeypatch.setattr(plugin_watch, "ApiClient", Client)
    for slot in ("on_stalled", "on_hopeless"):
        monkeypatch.setattr(WATCHDOG, slot, getattr(WATCHDOG, slot))
    plugin = SimpleNamespace(name="Slow")
    watch: Any = SimpleNamespace(profile_of=lambda _: "ours")
    pod: Any = SimpleNamespace(pod_namespace="sys", pod_name="s")
    PluginWatch.report_stalled(watch, pod, None, "agent", lambda: "h")  # type: ignore[arg-type] # nothing is sent
    WATCHDOG.on_stalled(plugin, "filter", "it does not come back")
    message = "it does not come back"
    expected = Trouble(kind=handshake.STALLED, hash="h", scheduler_name="ours", plugin="Slow", message=message)
    assert (replica(said).trouble, replica(said).hash) == (expected, "h")


def test_contended_profiles_are_read_with_their_figures() -> None:
    found = {"ours": Contention(100, 7), "batch": Contention(3, 3)}
    assert replica(contended(found)).contended == found
    assert replica(contended({})).contended == {}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("no JSON", id="no JSON"),
        pytest.param("[1]", id="no map"),
        pytest.param("[" * 16_000, id="depth"),
        pytest.param('{"kind": "' + "x" * 20_000 + '"}', id="length"),
    ],
)
@pytest.mark.parametrize("name", [handshake.TROUBLE, handshake.CONTENDED])
def test_what_nobody_of_ours_wrote_is_no_report(text: str, name: str) -> None:
    assert handshake.report_in({name: text}) == Report()
