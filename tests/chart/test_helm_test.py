"""What `helm test` brings: an account that only looks, a pod of each scheduler, and one that says what is not well."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from kit.documented_rights import TEST, documented, rights

Manifest = dict[str, Any]
Render = Callable[..., list[Manifest]]


def hooks(rendered: list[Manifest]) -> list[Manifest]:
    return [each for each in rendered if "helm.sh/hook" in each["metadata"].get("annotations", {})]


def of_kind(rendered: list[Manifest], kind: str) -> list[Manifest]:
    return [each for each in hooks(rendered) if each["kind"] == kind]


def weight(manifest: Manifest) -> int:
    return int(manifest["metadata"]["annotations"]["helm.sh/hook-weight"])


def test_nothing_of_it_stays_in_the_release(rendered: list[Manifest]) -> None:
    for each in hooks(rendered):
        annotations = each["metadata"]["annotations"]
        assert annotations["helm.sh/hook"] == "test"
        assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"
    named = [each["metadata"]["name"] for each in rendered if "-test" in each["metadata"]["name"]]
    assert sorted(named) == sorted(each["metadata"]["name"] for each in hooks(rendered))


@pytest.mark.parametrize("variant", ["default", "profiles", "everything"])
def test_the_pod_that_looks_comes_last(render: Render, variant: str) -> None:
    rendered = render(variant)
    (pod,) = of_kind(rendered, "Pod")
    assert all(weight(each) < weight(pod) for each in hooks(rendered) if each is not pod)
    sets = of_kind(rendered, "ReplicaSet")
    assert all(weight(each) < weight(one) for one in sets for each in of_kind(rendered, "ServiceAccount"))


@pytest.mark.parametrize("variant", ["default", "profiles", "everything"])
def test_each_profile_of_the_values_has_a_pod_to_place(render: Render, variant: str) -> None:
    rendered = render(variant)
    (values,) = [each for each in rendered if each["metadata"]["name"].endswith("-values")]
    wanted = [each["spec"]["schedulerName"] for each in yaml.safe_load(values["data"]["profiles.yaml"])]
    sets = of_kind(rendered, "ReplicaSet")
    assert [each["spec"]["template"]["spec"]["schedulerName"] for each in sets] == wanted
    (pod,) = of_kind(rendered, "Pod")
    (selector,) = [
        word.partition("=")[2] for word in pod["spec"]["containers"][0]["args"] if word.startswith("--test-selector=")
    ]
    for each in sets:
        labels = each["spec"]["template"]["metadata"]["labels"]
        assert {f"{key}={value}" for key, value in labels.items()} >= set(selector.split(","))
        assert not {f"{key}={value}" for key, value in pod["metadata"]["labels"].items()} >= set(selector.split(","))


def test_its_account_may_look_and_nothing_else(render: Render) -> None:
    roles = [each for kind in ("ClusterRole", "Role") for each in of_kind(render(), kind)]
    given = [right for role in roles for right in rights(role["rules"], role["metadata"].get("namespace", "cluster"))]
    assert sorted(given) == sorted(documented(TEST, "mine-pilotage", "team"))
    assert {verb for _, _, _, verb, _ in given} == {"list"}


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        pytest.param({"test": {"enabled": False}}, set(), id="no test"),
        pytest.param(
            {"test": {"serviceAccountName": "mine"}}, {"Pod", "ReplicaSet"}, id="an account that is there already"
        ),
        pytest.param(
            {"rbac": {"create": False}}, {"Pod", "ReplicaSet", "ServiceAccount"}, id="rights that somebody else gives"
        ),
        pytest.param(
            {"scheduler": {"createProfile": False}, "test": {"serviceAccountName": "mine"}},
            {"Pod"},
            id="no profile of the values",
        ),
    ],
)
def test_what_there_is(render_values: Render, values: Manifest, kinds: set[str]) -> None:
    rendered = render_values(values)
    assert {each["kind"] for each in hooks(rendered)} == kinds
    account = values.get("test", {}).get("serviceAccountName", "mine-pilotage-test")
    assert [each["spec"]["serviceAccountName"] for each in of_kind(rendered, "Pod")] == [account] * ("Pod" in kinds)


def test_a_pod_of_ones_own(render: Render) -> None:
    for each in of_kind(render("everything"), "ReplicaSet"):
        (container,) = each["spec"]["template"]["spec"]["containers"]
        assert (container["image"], container["command"]) == ("registry.example/true:1", ["/bin/true"])
