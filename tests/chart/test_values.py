"""What values mean: the profiles that they make, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pilotage.config.defaults import DEFAULT_PLUGINS

Manifest = dict[str, Any]
Render = Callable[..., list[Manifest]]

CHART = Path(__file__).parents[2] / "charts" / "pilotage"


def profiles(rendered: list[Manifest]) -> dict[str, Manifest]:
    (found,) = [each for each in rendered if each["metadata"]["name"] == "mine-pilotage-values"]
    listed = yaml.safe_load(found["data"]["profiles.yaml"])
    assert all(set(each) == {"name", "spec"} for each in listed)
    return {each["name"]: each["spec"] for each in listed}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, {"plugins": []}, id="nothing: the default plugins"),
        pytest.param({"plugins": {"enabled": [], "disabled": []}}, {"plugins": []}, id="empty lists: the same"),
        pytest.param(
            {"plugins": {"enabled": ["A", {"name": "B", "weight": 3, "points": ["score"]}]}},
            {"plugins": [{"name": "A"}, {"name": "B", "weight": 3, "points": ["score"]}]},
            id="names and maps",
        ),
        pytest.param(
            {"plugins": {"disabled": ["ImageLocality"]}},
            {"plugins": [{"name": "ImageLocality", "enabled": False}]},
            id="a default plugin is taken out",
        ),
        pytest.param(
            {"plugins": {"enabled": ["A"], "disabled": ["A"]}},
            {"plugins": [{"name": "A"}]},
            id="enabled counts before disabled",
        ),
        pytest.param(
            {"plugins": {"enabled": ["NodeName"], "disabled": ["*"]}},
            {"plugins": [{"name": "NodeName"}], "base": "None"},
            id="all default plugins are taken out",
        ),
        pytest.param(
            {"plugins": {"enabled": ["Coscheduling"], "disabled": ["PrioritySort"]}},
            {"plugins": [{"name": "Coscheduling"}]},
            id="the order of the queue takes care of itself",
        ),
        pytest.param(
            {"plugins": {"enabled": ["A"]}, "pluginConfig": [{"name": "A", "args": {"count": 1000000, "text": "1"}}]},
            {"plugins": [{"name": "A", "args": {"count": 1000000, "text": "1"}}]},
            id="arguments of an enabled plugin",
        ),
        pytest.param(
            {
                "pluginConfig": [
                    {"name": "NodeResourcesFit", "args": {"a": 1}},
                    {"name": "Coscheduling", "args": {"b": 2}},
                ]
            },
            {"plugins": [{"name": "NodeResourcesFit", "args": {"a": 1}}]},
            id="arguments alone enable nothing",
        ),
        pytest.param(
            {
                "plugins": {"disabled": ["NodeResourcesFit"]},
                "pluginConfig": [{"name": "NodeResourcesFit", "args": {"a": 1}}],
            },
            {"plugins": [{"name": "NodeResourcesFit", "enabled": False}]},
            id="arguments of a disabled plugin",
        ),
    ],
)
def test_the_profile_of_the_values(render_values: Render, values: Manifest, expected: Manifest) -> None:
    made = profiles(render_values(values))
    assert made == {"mine-pilotage": {"schedulerName": "mine-pilotage", "instance": "team/mine", **expected}}


def test_the_reference_style(render: Render) -> None:
    assert profiles(render("i-scheduler")) == {
        "i-scheduler": {
            "schedulerName": "i-scheduler",
            "instance": "team/mine",
            "plugins": [
                {"name": "Priority"},
                {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}},
                {"name": "CapacityScheduling"},
                {"name": "NodeResourceTopologyMatch"},
                {"name": "NodeResourcesAllocatable"},
            ],
        }
    }


def test_further_profiles(render: Render) -> None:
    made = profiles(render("profiles"))
    assert list(made) == ["default-policy", "batch", "bare", "plain"]
    assert {name: spec["schedulerName"] for name, spec in made.items()} == {
        "default-policy": "default-policy",
        "batch": "batch-scheduler",
        "bare": "bare",
        "plain": "plain",
    }
    assert {spec["instance"] for spec in made.values()} == {"team/mine"}


def test_a_release_without_profiles(render: Render) -> None:
    assert profiles(render("brought-along")) == {}


def test_the_entry_point_of_scheduler_plugins_counts_as_nothing(render: Render) -> None:
    deployments = [each for each in render("scheduler-plugins") if each["kind"] == "Deployment"]
    assert not any("command" in each["spec"]["template"]["spec"]["containers"][0] for each in deployments)


def test_the_operator_goes_where_the_controller_would(render: Render) -> None:
    (pod,) = [
        each["spec"]["template"]["spec"]
        for each in render("everything")
        if each["kind"] == "Deployment" and each["metadata"]["name"].endswith("-operator")
    ]
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert pod["tolerations"] == [{"key": "dedicated", "operator": "Exists"}]


def test_the_default_plugins_are_the_schedulers() -> None:
    listed = yaml.safe_load((CHART / "files" / "default-plugins.yaml").read_text())
    assert listed == [plugin.name for plugin in DEFAULT_PLUGINS]


@pytest.mark.parametrize(
    ("values", "where", "what"),
    [
        pytest.param({"nonsense": 1}, "''", "'nonsense' not allowed", id="an unknown value"),
        pytest.param({"scheduler": {"nme": "x"}}, "/scheduler'", "'nme' not allowed", id="a typo"),
        pytest.param(
            {"scheduler": {"image": {"tagg": "x"}}}, "/scheduler/image'", "'tagg' not allowed", id="in an image"
        ),
        pytest.param({"scheduler": {"replicaCount": -1}}, "/scheduler/replicaCount'", "want 0", id="too few replicas"),
        pytest.param({"scheduler": {"name": "A_b"}}, "/scheduler/name'", "pattern", id="no name"),
        pytest.param({"operator": {"replicaCount": 2}}, "/operator/replicaCount'", "want 1", id="two operators"),
        pytest.param({"plugins": {"enable": []}}, "/plugins'", "'enable' not allowed", id="a word of plugins"),
        pytest.param(
            {"plugins": {"enabled": [{"name": "A", "wieght": 2}]}},
            "/plugins/enabled/0'",
            "'wieght' not allowed",
            id="a word of a plugin",
        ),
        pytest.param({"pluginConfig": [{"args": {}}]}, "/pluginConfig/0'", "'name'", id="arguments of nobody"),
        pytest.param(
            {"profiles": [{"name": "a", "spec": {"pluggins": []}}]},
            "/profiles/0/spec'",
            "'pluggins' not allowed",
            id="a word of a profile",
        ),
        pytest.param(
            {"profiles": [{"name": "a", "spec": {"plugins": [{"name": "A", "weight": -1}]}}]},
            "/profiles/0/spec/plugins/0/weight'",
            "want 1",
            id="a weight in a profile",
        ),
        pytest.param({"rbac": {"plugins": "some"}}, "/rbac/plugins'", "'all'", id="neither all nor a list"),
        pytest.param(
            {"monitoring": {"serviceMonitor": {"enabled": True}}},
            "/monitoring/serviceMonitor/enabled'",
            "'auto'",
            id="neither auto nor always nor never",
        ),
        pytest.param(
            {"scheduler": {"customPlugins": {"my plugin.py": ""}}},
            "/scheduler/customPlugins'",
            "my plugin.py",
            id="a file",
        ),
    ],
)
def test_what_the_schema_refuses(refuse: Callable[[Manifest], str], values: Manifest, where: str, what: str) -> None:
    said = refuse(values)
    assert where in said
    assert what in said


@pytest.mark.parametrize(
    ("values", "fix"),
    [
        pytest.param(
            {"scheduler": {"replicaCount": 2, "leaderElect": False}},
            "Set scheduler.leaderElect=true, or scheduler.replicaCount=1.",
            id="replicas without a Lease",
        ),
        pytest.param(
            {"monitoring": {"podMonitor": {"enabled": "always"}}},
            "Set monitoring.podMonitor.tokenSecret.name to a Secret with a token, or use monitoring.serviceMonitor.",
            id="a PodMonitor without a token",
        ),
        pytest.param(
            {"monitoring": {"serviceMonitor": {"enabled": "always"}}, "scheduler": {"service": {"enabled": False}}},
            "Set scheduler.service.enabled=true, or monitoring.serviceMonitor.enabled=never.",
            id="a ServiceMonitor without a Service",
        ),
        pytest.param(
            {"scheduler": {"name": "a"}, "profiles": [{"name": "a"}]},
            "every name in profiles must differ.",
            id="two profiles of one name",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_the_fix(
    refuse: Callable[[Manifest], str], values: Manifest, fix: str
) -> None:
    assert fix in refuse(values)
