"""Where plugins come from, and what is said about those that cannot be used."""

import re
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent

import pytest

from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.framework.api.plugin import Plugin, Score
from pilotage.plugins import catalogue as subject
from pilotage.plugins.catalogue import BrokenPlugin, PluginCatalogue, built_in

HEAD = "from pilotage.framework.api.plugin import *; import pydantic\nfrom pilotage.framework.api.events import *\n"
KIND = 'from pilotage.kinds.kube_object import KubeObject\nclass Rack(KubeObject, {}):\n    "A kind."\n'
GOOD = """
class Good(Score):
    def score(self, cycle, pod, node):
        return 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    def write(**files: str) -> Path:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(HEAD + dedent(text))
        return tmp_path

    return write


def test_all_default_plugins_are_built_in() -> None:
    assert {plugin.name for plugin in DEFAULT_PLUGINS} <= set(built_in().names())


def test_there_are_others_that_no_profile_has_by_default() -> None:
    others = set(built_in().names()) - {plugin.name for plugin in DEFAULT_PLUGINS}
    assert {"Priority", "NodeResourcesAllocatable", "NetworkOverhead", "TopologicalSort"} <= others


def test_every_built_in_plugin_has_a_file_named_after_it() -> None:
    for entry in built_in():
        if entry.origin == "built in":
            snake = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", entry.plugin.name).lower()
            assert entry.plugin.__module__.rpartition(".")[2] == snake
            assert entry.description, entry.plugin.name


def test_a_file_of_a_folder_is_a_plugin(folder: Callable[..., Path]) -> None:
    catalogue = PluginCatalogue()
    assert catalogue.add_folder(folder(good=GOOD)) == ["Good"]
    entry = catalogue.entry("Good")
    assert entry is not None
    assert entry.origin.endswith("good.py")


def test_tests_and_private_files_of_a_folder_are_no_plugins(folder: Callable[..., Path]) -> None:
    where = folder(good=GOOD, _shared="x = 1", test_good="x = 1", conftest="x = 1")
    assert PluginCatalogue().add_folder(where) == ["Good"]


def test_a_base_class_of_ones_own_is_no_plugin_if_its_name_is_private(folder: Callable[..., Path]) -> None:
    text = "class _Common(Score):\n    weight: int = 1\n\n" + GOOD.replace("(Score)", "(_Common)")
    assert PluginCatalogue().add_folder(folder(good=text)) == ["Good"]


def test_annotations_may_be_texts(tmp_path: Path) -> None:
    text = "from __future__ import annotations\n" + HEAD + GOOD + "    names: tuple[Name, ...] = ()\n\nName = str\n"
    (tmp_path / "good.py").write_text(text.replace("Name = str\n", "").replace(GOOD, "Name = str\n" + GOOD))
    catalogue = PluginCatalogue()
    catalogue.add_folder(tmp_path)
    plugin = catalogue.construct("Good", {"names": ["a"]})
    assert plugin.args.model_dump() == {"names": ("a",)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("class Bad(Score)\n    pass", r"bad.py:3: syntax error: expected ':'", id="a syntax error"),
        pytest.param("import nothing.there", r"bad.py:3: it cannot be imported: ModuleNotFoundError", id="an import"),
        pytest.param(
            "import pilotage.framework.plugin", r"import it from pilotage\.plugin", id="a path that has moved"
        ),
        pytest.param("1 / 0", r"bad.py:3: .*ZeroDivisionError: division by zero", id="an error on import"),
        pytest.param("raise SystemExit(5)", r"bad.py:3: it cannot be imported: SystemExit: 5", id="an exit on import"),
        pytest.param("x = 1", r"bad.py: no plugin in it; a plugin is a class with a base", id="no plugin"),
        pytest.param("class Bad:\n    pass", r"bad.py: no plugin in it", id="a class without a base"),
        pytest.param(
            "class Base(Score):\n    label: str = 'x'\nclass Bad(Base):\n    label = 'y'",
            r"bad.py:5: it cannot be imported: PydanticUserError: Field 'label' defined on a base class was overridden",
            id="an argument without its type",
        ),
        pytest.param(
            GOOD + "    class Args(Arguments):\n        one: int = 1\n    other: int = 2",
            r"TypeError: Good has arguments in Args and as fields; all must be in one place",
            id="arguments in two places",
        ),
        pytest.param(
            GOOD + "    _seen: list = pydantic.PrivateAttr(default_factory=list)",
            r"TypeError: Good._seen is a PrivateAttr; set self._seen in __post_init__\(self\)",
            id="a private attribute of a model",
        ),
        pytest.param(
            GOOD + "    def model_post_init(self, context): ...",
            r"TypeError: Good.model_post_init is not called; write __post_init__\(self\)",
            id="the last step of a model",
        ),
        pytest.param(GOOD + "    caching = NODE", r"Good.caching must be such as Caching\(STATIC\)", id="caching"),
        pytest.param(
            GOOD + "    def start(self): ...", r"Good.start\(self\) must be start\(self, handle\)", id="start"
        ),
        pytest.param(
            "class Bad(Filter):\n    def filter(self, pod, node): ...",
            r"Bad.filter\(self, pod, node\) must be filter\(self, cycle, pod, node\)",
            id="too few parameters",
        ),
        pytest.param(
            "class Bad(Score):\n    def score(self, cycle, pod, node, more): ...",
            r"Bad.score\(self, cycle, pod, node, more\) must be score\(self, cycle, pod, node\)",
            id="too many parameters",
        ),
        pytest.param(
            "class Bad(Score):\n    def score(self, cycle, pod, *, node): ...",
            r"must be score\(self, cycle, pod, node\)",
            id="a parameter that must be named",
        ),
        pytest.param(
            "class Bad(Score):\n    async def score(self, cycle, pod, node): ...",
            r"Bad.score must not be written with async def",
            id="a coroutine where none is awaited",
        ),
        pytest.param(
            "class Bad(PreBind):\n    def pre_bind(self, cycle, pod, node): ...",
            r"Bad.pre_bind must be written with async def",
            id="no coroutine where one is awaited",
        ),
        pytest.param(
            "class Bad(Score):\n    pass",
            r"Bad is a Score and must have the method score\(self, cycle, pod, node\)",
            id="the method of the base is missing",
        ),
        pytest.param(
            "class Bad(Filter):\n    def fliter(self, cycle, pod, node): ...",
            r"Bad is a Filter and must have the method filter",
            id="a slip in the method's name",
        ),
        pytest.param(
            GOOD + "    retry_on = NODE_ADDED",
            r"Good.retry_on must be a tuple such as \(NODE_ADDED,\)",
            id="retry_on is no tuple",
        ),
        pytest.param(
            GOOD + "    retry_on = (Retry(Resource.NODE, Action.ADD, 'helps'),)",
            r"Good.retry_on names a hint: it must have the method helps\(self, pod, event, old, new\)",
            id="a hint that is not there",
        ),
        pytest.param(GOOD + "    depends_on = 'node'", r"Good.depends_on must be STATIC, NODE or CLUSTER", id="scope"),
        pytest.param(GOOD + "    reads = ('Service',)", r"Good.reads must be a tuple of kinds", id="reads names"),
        pytest.param(
            KIND.format('group="example.com", version="v1", plural="Racks"') + GOOD,
            r"plural must be like \"rackpowers\", not 'Racks'",
            id="a kind with a strange name",
        ),
        pytest.param(KIND.format("") + GOOD, r"Rack must declare its API", id="a kind without an address"),
        pytest.param(
            KIND.format('group="example.com", version="v1", plural="racks"')
            + "    size: list[int] | tuple[int, ...] = ()\n"
            + GOOD
            + "    reads = (Rack,)",
            r"Good.reads names Rack, whose fields cannot be decoded",
            id="a kind that nobody can decode",
        ),
        pytest.param(
            GOOD + "    permissions = ('pods',)", r"Good.permissions must be a tuple such as", id="permissions"
        ),
        pytest.param(
            GOOD + "    def normalize(self, scores): ...",
            r"Good.normalize\(self, scores\) must be normalize\(plugin, cycle, pod, nodes, scores\)",
            id="normalize with other parameters",
        ),
    ],
)
def test_a_broken_file_is_told_with_what_to_change(text: str, told: str, folder: Callable[..., Path]) -> None:
    with pytest.raises(BrokenPlugin, match=told) as caught:
        PluginCatalogue().add_folder(folder(bad=text))
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("def score(self, cycle, pod, node, bonus=1): return bonus", id="one more that has a default"),
        pytest.param("def score(self, *everything): return 1", id="any number of them"),
        pytest.param("@staticmethod\n    def score(cycle, pod, node): return 1", id="a static method"),
        pytest.param("@classmethod\n    def score(cls, cycle, pod, node): return 1", id="a class method"),
        pytest.param("def score(self, c, p, n): return 1", id="other names"),
    ],
)
def test_a_method_that_can_be_called_will_do(method: str, folder: Callable[..., Path]) -> None:
    assert PluginCatalogue().add_folder(folder(good=f"class Good(Score):\n    {method}\n")) == ["Good"]


def test_text_that_is_no_python_at_all(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BrokenPlugin, match=r"bad\.py"):
        PluginCatalogue().add_folder(tmp_path)


def test_all_broken_files_are_told_at_once(folder: Callable[..., Path]) -> None:
    with pytest.raises(BrokenPlugin) as caught:
        PluginCatalogue().add_folder(folder(one="1 / 0", two="class Bad(", three=GOOD))
    assert [line.rpartition("/")[2].partition(":")[0] for line in str(caught.value).splitlines()] == [
        "one.py",
        "two.py",
    ]


def test_a_folder_must_be_there_and_hold_something(tmp_path: Path) -> None:
    with pytest.raises(BrokenPlugin, match="no such folder; --plugin-dir requires a folder"):
        PluginCatalogue().add_folder(tmp_path / "nothing")
    with pytest.raises(BrokenPlugin, match=r"no \.py file in it"):
        PluginCatalogue().add_folder(tmp_path)


def test_two_plugins_of_one_name_are_one_too_many(folder: Callable[..., Path]) -> None:
    text = "class NodeName(Score):\n    def score(self, cycle, pod, node): return 1"
    with pytest.raises(BrokenPlugin, match=r"the plugin NodeName already exists \(built in\); give this class another"):
        built_in().add_folder(folder(mine=text))


def test_a_plugin_that_cannot_be_made_is_named(folder: Callable[..., Path]) -> None:
    text = GOOD + "    def __post_init__(self):\n        raise RuntimeError('no\\nluck')\n"
    catalogue = PluginCatalogue()
    catalogue.add_folder(folder(good=text))
    with pytest.raises(BrokenPlugin, match=r"good\.py: Good cannot be constructed: RuntimeError: no$"):
        catalogue.construct("Good", {})


def test_a_plugin_whose_arguments_raise_is_named(folder: Callable[..., Path]) -> None:
    text = GOOD + "    count: int = 1\n    def faults(self, at):\n        return [1 / 0]\n"
    catalogue = PluginCatalogue()
    catalogue.add_folder(folder(good=text))
    read = catalogue.arguments("Good")
    assert read is not None
    with pytest.raises(BrokenPlugin, match="Good cannot be constructed: ZeroDivisionError"):
        read({}, ())


class FromPackage(Score):
    """Comes with a package."""

    def score(self, cycle: object, pod: object, node: object) -> int:
        return 1


class TakesPartInNothing(Plugin):
    """Has no base that says where."""


def entry_point(value: str) -> EntryPoint:
    return EntryPoint("any", value, subject.ENTRY_POINTS)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param(ImportError("gone"), r"it cannot be imported: ImportError: gone", id="a module that is gone"),
        pytest.param(5, r"must be a plugin class, not 5", id="something else"),
        pytest.param(TakesPartInNothing, r"TakesPartInNothing implements no extension point", id="no extension point"),
    ],
)
def test_broken_entry_points(found: object, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(self: EntryPoint) -> object:
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(EntryPoint, "load", load)
    monkeypatch.setattr(subject, "entry_points", lambda group: [entry_point("some.module:Thing")])
    with pytest.raises(BrokenPlugin, match=rf"\? \(some\.module:Thing\): .*{told}"):
        built_in()


def test_an_entry_point_is_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EntryPoint, "load", lambda self: FromPackage)
    monkeypatch.setattr(subject, "entry_points", lambda group: [entry_point("some.module:FromPackage")])
    entry = built_in().entry("FromPackage")
    assert entry is not None
    assert entry.origin == "? (some.module:FromPackage)"
