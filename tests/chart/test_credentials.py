"""Credentials for services that profiles name: mounted in one place, and shown to the hosts of a list."""

from collections.abc import Callable
from typing import Any

import pytest

Manifest = dict[str, Any]
Render = Callable[..., list[Manifest]]

GIVEN = {
    "credentials": {"secrets": ["prom", "gpu"], "configMaps": ["kube-root-ca.crt"]},
    "allowedHosts": ["a.b", "*.c:1"],
}


def container(rendered: list[Manifest], name: str) -> tuple[Manifest, Manifest]:
    (found,) = [each for each in rendered if each["kind"] == "Deployment" and each["metadata"]["name"].endswith(name)]
    pod = found["spec"]["template"]["spec"]
    return pod, pod["containers"][0]


def test_by_default_nothing_is_mounted_and_no_host_is_listed(render_values: Render) -> None:
    pod, own = container(render_values({}), "scheduler")
    assert not [each for each in own["volumeMounts"] if each["mountPath"].startswith("/etc/pilotage/credentials")]
    assert not [each for each in own["args"] if each.startswith("--allowed-hosts")]
    assert [each["name"] for each in pod["volumes"]] == ["tmp"]


def test_each_secret_has_a_folder_of_its_name_that_nobody_writes(render_values: Render) -> None:
    pod, own = container(render_values({"scheduler": GIVEN}), "scheduler")
    volumes = {each["name"]: each for each in pod["volumes"]}
    mounted = {each["mountPath"]: each for each in own["volumeMounts"] if each["mountPath"] != "/tmp"}
    assert {path: each["readOnly"] for path, each in mounted.items()} == {
        f"/etc/pilotage/credentials/{name}": True for name in ("prom", "gpu", "kube-root-ca.crt")
    }
    found = [volumes[each["name"]] for each in mounted.values()]
    assert sorted(each["secret"]["secretName"] for each in found if "secret" in each) == ["gpu", "prom"]
    assert [each["configMap"] for each in found if "configMap" in each] == [
        {"name": "kube-root-ca.crt", "optional": True}
    ]
    assert all(each["secret"]["optional"] for each in found if "secret" in each), "a scheduler starts without them"


def test_scheduler_and_operator_know_the_same_hosts(render_values: Render) -> None:
    rendered = render_values({"scheduler": GIVEN})
    for name in ("scheduler", "operator"):
        assert "--allowed-hosts=a.b,*.c:1" in container(rendered, name)[1]["args"]
    assert "--credential-secrets=prom,gpu" in container(rendered, "operator")[1]["args"]


def test_the_operator_mounts_none_of_them(render_values: Render) -> None:
    pod, _ = container(render_values({"scheduler": GIVEN}), "operator")
    assert [each["name"] for each in pod["volumes"]] == ["tmp", "values"]


def test_nobody_gets_a_right_to_secrets(render_values: Render) -> None:
    roles = [each for each in render_values({"scheduler": GIVEN}) if each["kind"].endswith("Role")]
    assert len(roles) > 10
    assert not [each for each in roles for rule in each["rules"] if "secrets" in rule.get("resources", ())]


@pytest.mark.parametrize(
    ("scheduler", "text"),
    [
        pytest.param({"allowedHosts": ["https://a"]}, "allowedHosts", id="a URL is no host"),
        pytest.param({"allowedHosts": ["*"]}, "allowedHosts", id="nor is everything"),
        pytest.param({"allowedHosts": ["a,b"]}, "allowedHosts", id="nor are two"),
        pytest.param({"credentials": {"secrets": ["../x"]}}, "secrets", id="a name that leads elsewhere"),
        pytest.param({"credentials": {"secrets": ["A"]}}, "secrets", id="a name that no Secret has"),
        pytest.param(
            {"credentials": {"secrets": ["a"], "configMaps": ["a"]}}, "both would be mounted at one place", id="twice"
        ),
    ],
)
def test_values_that_mean_nothing(refuse: Callable[[Manifest], str], scheduler: Manifest, text: str) -> None:
    assert text in refuse({"scheduler": scheduler})
