"""A plugin that fails spoils the pods that it is asked about, with a clear message; never the program."""

import json
from collections.abc import Callable
from textwrap import dedent

import pytest
from click.testing import Result

from pilotage.testing import node_manifest, pod_manifest

Pilotage = Callable[..., Result]
Write = Callable[..., str]

HEAD = "from pilotage.framework.api.plugin import *\nfrom pilotage.framework.api.verdicts import *\n\n"


@pytest.fixture
def run(pilotage: Pilotage, write: Write) -> Callable[[str], Result]:
    """Schedule two equal pods and one that names no node's label on two nodes, with one more plugin."""

    def with_plugin(plugin: str) -> Result:
        folder = write(HEAD + dedent(plugin), name="plugins/mine.py").removesuffix("/mine.py")
        file = write(node_manifest("n1"), node_manifest("n2"), pod_manifest("a", cpu=1), pod_manifest("b", cpu=1))
        return pilotage("simulate", "--plugin-dir", folder, "-f", file, "-o", "json")

    return with_plugin


@pytest.mark.parametrize("depends_on", ["STATIC", "NODE", "CLUSTER"])
@pytest.mark.parametrize(
    ("base", "method", "told"),
    [
        pytest.param(
            "Filter",
            "filter(self, cycle, pod, node): return 1 / 0",
            'running "Mine" filter plugin: ZeroDivisionError: division by zero (',
            id="filter raises",
        ),
        pytest.param(
            "Filter",
            "filter(self, cycle, pod, node): return False",
            'running "Mine" filter plugin: it returned bool False, which is not valid here',
            id="filter answers with a boolean",
        ),
        pytest.param(
            "Filter",
            "filter_nodes(self, cycle, pod, nodes): return [True]\n    def filter(self, cycle, pod, node): ...",
            "it returned list [True], which is not valid here",
            id="filter_nodes answers with a list",
        ),
        pytest.param(
            "Filter",
            "filter(self, cycle, pod, node): raise PluginFailed('no idea')",
            'running "Mine" filter plugin: no idea',
            id="filter says that it failed",
        ),
        pytest.param(
            "Score",
            "score(self, cycle, pod, node): return 10**9",
            'plugin "Mine" returns an invalid score 1000000000, it should in the range of [0, 100] after normalizing',
            id="score is beyond all bounds",
        ),
        pytest.param(
            "Score",
            "score(self, cycle, pod, node): return -1",
            'plugin "Mine" returns an invalid score -1',
            id="score is negative",
        ),
        pytest.param(
            "Score",
            "score(self, cycle, pod, node): return 10**30",
            'running Score plugins: plugin "Mine" failed with: OverflowError',
            id="score has more than 64 bits",
        ),
        pytest.param(
            "Score", "score(self, cycle, pod, node): return 'much'", "it returned str 'much'", id="score is a text"
        ),
        pytest.param("Score", "score(self, cycle, pod, node): return 0.5", "it returned float 0.5", id="score is half"),
        pytest.param("Score", "score(self, cycle, pod, node): pass", "it returned NoneType None", id="score is None"),
        pytest.param(
            "Score",
            "score(self, cycle, pod, node): return node.nmae",
            "AttributeError: 'NodeInfo' object has no attribute 'nmae' (",
            id="score has a slip of the pen",
        ),
        pytest.param(
            "Score",
            "normalize(self, cycle, pod, nodes, scores): return 5\n    def score(self, cycle, pod, node): return 1",
            'running Normalize on Score plugins: plugin "Mine" failed with: it returned int 5',
            id="normalize answers with a number",
        ),
        pytest.param(
            "PreFilter",
            "pre_filter(self, cycle, pod): raise KeyError('x')",
            "running PreFilter plugin \"Mine\": KeyError: 'x' (",
            id="pre_filter raises",
        ),
        pytest.param(
            "PreFilter", "pre_filter(self, cycle, pod): return 5", "it returned int 5", id="pre_filter answers 5"
        ),
        pytest.param(
            "PreScore",
            "pre_score(self, cycle, pod, nodes): raise KeyError('x')",
            "running PreScore plugin \"Mine\": KeyError: 'x' (",
            id="pre_score raises",
        ),
        pytest.param(
            "Reserve",
            "reserve(self, cycle, pod, node): raise KeyError('x')",
            "running Reserve plugin \"Mine\": KeyError: 'x' (",
            id="reserve raises",
        ),
        pytest.param("Reserve", "reserve(self, cycle, pod, node): return 5", "returned int 5", id="reserve answers 5"),
        pytest.param(
            "Permit",
            "permit(self, cycle, pod, node): raise KeyError('x')",
            "running Permit plugin \"Mine\": KeyError: 'x' (",
            id="permit raises",
        ),
        pytest.param("Permit", "permit(self, cycle, pod, node): return 5", "returned int 5", id="permit answers 5"),
        pytest.param("PreEnqueue", "pre_enqueue(self, pod): raise KeyError('x')", "'x'", id="pre_enqueue raises"),
    ],
)
def test_a_plugin_that_fails_when_it_is_asked(
    base: str, method: str, told: str, depends_on: str, run: Callable[[str], Result]
) -> None:
    result = run(f"class Mine({base}):\n    depends_on = {depends_on}\n    def {method}\n")
    assert result.exit_code == 3
    for pod in json.loads(result.stdout):
        assert pod["node"] is None
        assert told in pod["message"]


def test_the_line_that_fails_is_named(run: Callable[[str], Result]) -> None:
    result = run("class Mine(Score):\n    def score(self, cycle, pod, node):\n        return {}['x']\n")
    assert "plugins/mine.py:6)" in result.stdout


def test_a_plugin_that_fails_while_it_makes_room(run: Callable[[str], Result]) -> None:
    result = run(
        """
        class Mine(Filter, PostFilter):
            def filter(self, cycle, pod, node):
                return Rejection("not here")
            def post_filter(self, cycle, pod, verdicts):
                raise KeyError("x")
        """
    )
    assert result.exit_code == 3
    assert "0/2 nodes are available: 2 not here." in result.stdout


def test_an_order_that_fails_lets_priority_decide(pilotage: Pilotage, write: Write) -> None:
    plugin = "class Mine(QueueSort):\n    def less(self, one, other): return 1 / 0\n"
    folder = write(HEAD + plugin, name="plugins/mine.py").removesuffix("/mine.py")
    config = write(
        """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        profiles:
        - plugins: {queueSort: {disabled: [{name: "*"}], enabled: [{name: Mine}]}}
        """,
        name="config.yaml",
    )
    file = write(node_manifest("n1"), pod_manifest("a"), pod_manifest("b", spec={"priority": 1}))
    result = pilotage("simulate", "--config", config, "--plugin-dir", folder, "-f", file, "-o", "json")
    assert result.exit_code == 0
    assert [pod["name"] for pod in json.loads(result.stdout)] == ["b", "a"]
    assert "ZeroDivisionError: division by zero" in result.stderr


@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        pytest.param("class Mine(Score)\n", "mine.py:4: syntax error: expected ':'", id="a syntax error"),
        pytest.param(
            "class Mine(Score):\n    def score(self, node): return 1\n",
            "mine.py: Mine.score(self, node) must be score(self, cycle, pod, node)",
            id="a wrong signature",
        ),
        pytest.param(
            "class Mine(Score):\n    label: str\n    def score(self, cycle, pod, node): return 1\n",
            'initializing plugin "Mine": label: ',
            id="an argument that nobody gives",
        ),
        pytest.param(
            "class Mine(QueueSort):\n    def less(self, one, other): return True\n",
            "only one queue sort plugin required",
            id="a second order",
        ),
        pytest.param(
            "class Mine(Score):\n    def score(self, cycle, pod, node): return 1\n"
            "    def __post_init__(self): raise RuntimeError('no luck')\n",
            "mine.py: Mine cannot be constructed: RuntimeError: no luck",
            id="it cannot be constructed",
        ),
    ],
)
def test_a_plugin_that_cannot_be_used_ends_with_2(plugin: str, told: str, run: Callable[[str], Result]) -> None:
    result = run(plugin)
    assert result.exit_code == 2
    assert told in result.stderr
