"""Who may do what: the chart gives what the documentation and the plugins say, and nothing more."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.documented_rights import (
    CONTROLLERS,
    EXPLAINER,
    OPERATOR,
    PEOPLE,
    PLUGINS,
    SCHEDULER,
    Right,
    documented,
    rights,
    table,
)
from pilotage.app.cluster_reading import ROLE
from pilotage_operator.controllers.registry import CONTROLLERS as KNOWN_CONTROLLERS
from pilotage_operator.controllers.registry import WITHOUT_CONTROLLERS, rights_of

Manifest = dict[str, Any]
Render = Callable[..., list[Manifest]]

ROOT = Path(__file__).parents[2]
RIGHTS = ROOT / "charts/pilotage/files/plugin-rights.yaml"
HARMLESS = ["AppGroup", "ElasticQuota", "PodGroup"]


def granted(rendered: list[Manifest], account: str) -> list[Right]:
    """All rights that bindings give to an account, but for those of plugins and of the cluster's own roles."""
    roles = {(each["kind"], each["metadata"]["name"]): each for each in rendered if each["kind"].endswith("Role")}
    found: list[Right] = []
    for binding in (each for each in rendered if each["kind"].endswith("Binding")):
        role = roles.get((binding["roleRef"]["kind"], binding["roleRef"]["name"]))
        if (
            binding["subjects"][0]["name"] == account
            and role
            and "pilotage.dev/plugin" not in role["metadata"]["labels"]
        ):
            found += rights(role["rules"], role["metadata"].get("namespace", "cluster"))
    return found


def test_the_scheduler_may_do_what_is_documented(render: Render) -> None:
    told = documented(SCHEDULER, "mine-pilotage", "team")
    assert sorted(granted(render(), "mine-pilotage-scheduler")) == sorted(told)


@pytest.mark.parametrize(
    ("controller", "running"),
    [
        pytest.param({}, HARMLESS, id="by default"),
        pytest.param(
            {"kinds": "all"}, ["AppGroup", "ElasticQuota", "NetworkTopology", "PodGroup", "StickyJob"], id="all"
        ),
        pytest.param({"kinds": ["StickyJob"]}, ["StickyJob"], id="one of them"),
        pytest.param({"kinds": []}, [], id="none of them"),
        pytest.param(
            {"kinds": ["ElasticQuota"], "restartPodGroups": True}, ["ElasticQuota"], id="no groups to restart"
        ),
        pytest.param({"replicaCount": 0, "kinds": "all"}, [], id="turned off as in scheduler-plugins"),
    ],
)
def test_the_operator_may_do_what_is_documented(
    render_values: Render, controller: Manifest, running: list[str]
) -> None:
    rendered = render_values({"controller": controller})
    told = documented(OPERATOR, "mine-pilotage", "team")
    told += [right for kind in running for right in documented(CONTROLLERS, "", "", controller=kind)]
    assert sorted(granted(rendered, "mine-pilotage-operator")) == sorted(told)
    (operator,) = [
        each
        for each in rendered
        if each["metadata"]["name"] == "mine-pilotage-operator" and each["kind"] == "Deployment"
    ]
    words = operator["spec"]["template"]["spec"]["containers"][0]["args"]
    assert operator["spec"]["replicas"] == 1
    assert f"--controllers={','.join(running)}" in words


@pytest.mark.parametrize("may", [False, True])
def test_who_restarts_groups_may_delete_pods(render_values: Render, may: bool) -> None:
    rendered = render_values({"controller": {"kinds": ["PodGroup"], "restartPodGroups": may}})
    told = documented(CONTROLLERS, "", "", controller="PodGroup, with restartPodGroups")
    assert told == [("cluster", "", "pods", "delete", "")]
    assert (told[0] in granted(rendered, "mine-pilotage-operator")) is may


@pytest.mark.parametrize("may", [False, True])
def test_who_taints_nodes_may_patch_them(render_values: Render, may: bool) -> None:
    rendered = render_values({"controller": {"taintNodes": may}})
    told = documented(CONTROLLERS, "", "", controller="SchedulerProfile, with taintNodes")
    assert told == [("cluster", "", "nodes", "patch", "")]
    assert (told[0] in granted(rendered, "mine-pilotage-operator")) is may
    (operator,) = [each for each in rendered if each["kind"] == "Deployment" and "operator" in each["metadata"]["name"]]
    assert ("--taint-nodes" in operator["spec"]["template"]["spec"]["containers"][0]["args"]) is may


def test_rights_of_no_controller_are_those_of_every_operator(render_values: Render) -> None:
    given = granted(render_values({"controller": {"kinds": []}}), "mine-pilotage-operator")
    assert {("cluster", *right, "") for right in WITHOUT_CONTROLLERS} <= set(given)


def test_controllers_have_the_rights_that_they_declare() -> None:
    given = yaml.safe_load(RIGHTS.with_name("controller-rights.yaml").read_text())
    declared = {each.resource.kind: rights_of(each) for each in KNOWN_CONTROLLERS}
    found = {kind: {(group, what, verb) for _, group, what, verb, _ in rights(rules)} for kind, rules in given.items()}
    assert found == declared


def test_who_creates_no_pods_and_reads_no_config_maps_is_controlled_by_default() -> None:
    values = yaml.safe_load((ROOT / "charts/pilotage/values.yaml").read_text())
    harmless = [each for each in KNOWN_CONTROLLERS if not each.writes_pods and not each.config_map]
    assert values["controller"]["kinds"] == [each.resource.kind for each in harmless]


@pytest.mark.parametrize(
    ("controller", "where"),
    [
        pytest.param({}, {"team"}, id="by default those of its own namespace"),
        pytest.param({"kinds": ["PodGroup", "StickyJob"]}, {"team"}, id="also with other controllers"),
        pytest.param({"kinds": ["NetworkTopology"]}, {"team", "cluster"}, id="all, where that controller is asked for"),
        pytest.param({"kinds": "all"}, {"team", "cluster"}, id="all with all controllers"),
        pytest.param({"replicaCount": 0, "kinds": "all"}, {"team"}, id="not where controllers are turned off"),
    ],
)
def test_whose_config_maps_the_operator_reads(render_values: Render, controller: Manifest, where: set[str]) -> None:
    given = granted(render_values({"controller": controller}), "mine-pilotage-operator")
    reads = {place for place, _, what, verb, _ in given if what == "configmaps" and verb in ("get", "list", "watch")}
    assert reads == where


def test_a_controller_that_there_is_not(refuse: Callable[[Manifest], str]) -> None:
    assert "There are: AppGroup, ElasticQuota, NetworkTopology, PodGroup, StickyJob." in refuse(
        {"controller": {"kinds": ["Podgroup"]}}
    )


def test_the_documentation_tells_the_rights_of_plugins() -> None:
    told = [
        (row["plugin"], "cluster", row["group"], resource, verb, "")
        for row in table(PLUGINS)
        for resource in row["resources"].split(", ")
        for verb in row["verbs"].split(", ")
    ]
    given = [(plugin, *right) for plugin, rules in literal().items() for right in rights(rules)]
    assert sorted(told) == sorted(given)


def test_the_documentation_tells_the_roles_of_people(render: Render) -> None:
    rows = table(PEOPLE)
    aggregated = {name: role for role in render() for name in [role["metadata"]["name"]] if aggregates_to(role)}
    assert set(aggregated) == {own_name(row["role"]) for row in rows}
    for name, role in aggregated.items():
        of_role = [row for row in rows if own_name(row["role"]) == name]
        lowest = of_role[0]["part of"].split(", ")[0]
        assert aggregates_to(role) == [f"rbac.authorization.k8s.io/aggregate-to-{lowest}"]
        assert role["rules"] == [
            {
                "apiGroups": [row["group"]],
                "resources": row["resources"].split(", "),
                "verbs": row["verbs"].split(", "),
            }
            for row in of_role
        ]


def test_who_only_looks_on_sees_no_profiles(render: Render) -> None:
    """A credential that somebody wrote into one is stored, whoever refuses it then."""
    readers = {
        label.rpartition("-")[2]
        for role in render()
        for label in aggregates_to(role)
        for rule in role["rules"]
        if "schedulerprofiles" in rule["resources"]
    }
    assert readers == {"admin"}


def own_name(documented_name: str) -> str:
    return documented_name.replace("F-", "mine-pilotage-").replace("NAMESPACE", "team")


def aggregates_to(manifest: Manifest) -> list[str]:
    return [label for label in manifest["metadata"].get("labels", {}) if "aggregate-to-" in label]


def test_nobody_raises_a_quota_or_writes_a_status_by_the_clusters_roles(render: Render) -> None:
    written = {
        what
        for role in render()
        if aggregates_to(role)
        for _, _, what, verb, _ in rights(role["rules"])
        if verb not in {"get", "list", "watch"}
    }
    assert written == {"podgroups", "stickyjobs", "appgroups", "schedulerprofiles"}


def test_roles_of_people_can_be_left_out(render_values: Render) -> None:
    assert not any(aggregates_to(each) for each in render_values({"rbac": {"aggregate": False}}))


def explainer(rendered: list[Manifest]) -> Manifest:
    (role,) = [each for each in rendered if each["kind"] == "ClusterRole" and "-explainer." in each["metadata"]["name"]]
    return role


def test_whoever_explains_may_do_what_is_documented(render: Render) -> None:
    assert sorted(rights(explainer(render())["rules"])) == sorted(documented(EXPLAINER, "mine-pilotage", "team"))


def test_the_role_is_the_one_that_explain_names(render_values: Render) -> None:
    rendered = render_values({}, release="pilotage", namespace="pilotage")
    assert explainer(rendered)["metadata"]["name"] == ROLE


@pytest.mark.parametrize("variant", ["default", "hardened"], ids=["all plugins", "few plugins"])
def test_whoever_explains_may_read_all_that_any_plugin_reads(render: Render, variant: str) -> None:
    read = {
        (group, resource)
        for rules in literal().values()
        for _, group, resource, verb, _ in rights(rules)
        if verb == "list" and group != "metrics.k8s.io"
    }
    found = {(group, resource) for _, group, resource, verb, _ in rights(explainer(render(variant))["rules"])}
    assert found == read | {("", "pods"), ("", "nodes"), ("", "events"), ("", "configmaps")}


def test_whoever_explains_may_list_what_plugins_of_ones_own_read(render: Render) -> None:
    found = list(rights(explainer(render("everything"))["rules"]))
    assert ("cluster", "example.com", "racks", "list", "") in found
    assert {verb for _, group, _, verb, _ in found if group == "example.com"} == {"list"}


def test_whoever_explains_changes_nothing_and_is_nobody_by_default(render: Render) -> None:
    rendered = render()
    role = explainer(rendered)
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}
    assert not any(label.startswith("rbac.authorization.k8s.io/") for label in role["metadata"]["labels"])
    bindings = [each for each in rendered if each["kind"].endswith("Binding")]
    assert role["metadata"]["name"] not in {each["roleRef"]["name"] for each in bindings}


def test_plugins_have_the_rights_that_they_declare() -> None:
    program = Path(sys.executable).with_name("pilotage")
    listed = subprocess.run([program, "plugins", "-o", "json"], capture_output=True, text=True, check=True).stdout
    declared = {
        plugin["name"]: {
            ("cluster", right["group"], right["resource"], verb, "")
            for right in plugin["permissions"]
            for verb in right["verbs"]
        }
        for plugin in json.loads(listed)
        if plugin["permissions"]
    }
    assert {plugin: set(rights(rules)) for plugin, rules in literal().items()} == declared


@pytest.mark.parametrize(
    ("variant", "expected"),
    [("default", None), ("hardened", ["DefaultBinder", "DefaultPreemption"]), ("brought-along", [])],
    ids=["all", "of chosen plugins, as far as they need any", "none"],
)
def test_each_plugins_rights_are_a_role_of_their_own(render: Render, variant: str, expected: list[str] | None) -> None:
    rendered = render(variant)
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        found = {
            each["metadata"]["labels"]["pilotage.dev/plugin"]: each
            for each in rendered
            if each["kind"] == kind and "pilotage.dev/plugin" in each["metadata"].get("labels", {})
        }
        assert sorted(found) == sorted(literal() if expected is None else expected)
        assert all(
            each["metadata"]["name"] == f"mine-pilotage-plugin-{plugin.lower()}.team" for plugin, each in found.items()
        )
        if kind == "ClusterRole":
            assert all(each["rules"] == literal()[plugin] for plugin, each in found.items())


def test_rules_for_plugins_of_ones_own(render: Render) -> None:
    assert ("cluster", "example.com", "racks", "list", "") in granted(render("everything"), "mine-steering-scheduler")


@pytest.mark.parametrize(("resource"), ["secrets", "roles", "clusterroles", "pods", "nodes"])
def test_no_account_may_change_what_would_give_it_more(render: Render, resource: str) -> None:
    writing = {"create", "update", "patch", "delete", "deletecollection", "*", "escalate", "bind", "impersonate"}
    rules = [right for name in ("scheduler", "operator") for right in granted(render(), f"mine-pilotage-{name}")]
    found = {(where, verb) for where, _, what, verb, _ in rules if what == resource and verb in writing}
    assert found == set()


def literal() -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = yaml.safe_load(RIGHTS.read_text())
    return found
