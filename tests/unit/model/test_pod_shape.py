"""Pods with equal needs share a shape, and pods whose needs differ never do."""

from typing import Any

import pytest

from pilotage.testing import make_pod

TOKEN: dict[str, Any] = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}


def with_volume(name: str, **source: Any) -> Any:
    return make_pod("p", spec={"volumes": [{"name": name, **source}]}).shape


def test_a_token_that_the_api_server_adds_to_every_pod_under_another_name_is_no_need() -> None:
    assert with_volume("kube-api-access-6rljz", **TOKEN) is with_volume("kube-api-access-k2x8p", **TOKEN)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            {"name": "a", "persistentVolumeClaim": {"claimName": "x"}},
            {"name": "a", "persistentVolumeClaim": {"claimName": "y"}},
            id="claims with other names",
        ),
        pytest.param(
            {"name": "a", "ephemeral": {}}, {"name": "b", "ephemeral": {}}, id="claims named after their volumes"
        ),
        pytest.param({"name": "a", **TOKEN}, {"name": "a", "azureFile": {}}, id="a source of interest and one of none"),
        pytest.param(
            {"name": "a", "image": {"reference": "x"}}, {"name": "a", "image": {"reference": "y"}}, id="other images"
        ),
    ],
)
def test_volumes_that_matter_make_another_shape(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert with_volume(**one) is not with_volume(**other)
