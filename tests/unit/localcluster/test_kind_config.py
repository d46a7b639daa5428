"""What we take from kind's configuration files and node images."""

from pathlib import Path

import pytest

from localcluster import kind_config
from localcluster.errors import Problem
from localcluster.kind_config import KindConfig


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("kind: Cluster", KindConfig(), id="an empty cluster leaves everything to the defaults"),
        pytest.param("kind: Cluster\nnodes: [{role: control-plane}]", KindConfig(workers=1), id="one node runs pods"),
        pytest.param(
            "kind: Cluster\nnodes: [{role: control-plane}, {role: worker}, {role: worker}, {role: worker}]",
            KindConfig(workers=3),
            id="workers are counted",
        ),
        pytest.param(
            "kind: Cluster\nname: x\nnetworking: {apiServerPort: 7000}\n"
            "nodes: [{role: worker, image: 'kindest/node:v1.36.4'}]",
            KindConfig(workers=1, kubernetes="1.36.4", api_port=7000, name="x"),
            id="name, port and version are taken over",
        ),
        pytest.param(
            'kind: Cluster\nfeatureGates: {A: true, B: false}\nruntimeConfig: {"api/beta": "true"}',
            KindConfig(feature_gates="A=true,B=false", runtime_config="api/beta=true"),
            id="features and APIs are switched on and off",
        ),
    ],
)
def test_read(tmp_path: Path, text: str, expected: KindConfig) -> None:
    file = tmp_path / "kind.yaml"
    file.write_text(text)
    assert kind_config.read(file) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("kind: Pod", "must contain `kind: Cluster`", id="another kind"),
        pytest.param("[", "cannot be read", id="no YAML"),
        pytest.param("kind: Cluster\nkubeadmConfigPatches: [a]", "kubeadmConfigPatches", id="a field beyond us"),
        pytest.param("kind: Cluster\nnetworking: {ipFamily: ipv6}", "networking.ipFamily", id="an unknown network"),
    ],
)
def test_read_refuses(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "kind.yaml"
    file.write_text(text)
    with pytest.raises(Problem, match=complaint):
        kind_config.read(file)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        pytest.param("kindest/node:v1.37.1", "1.37.1", id="a tag"),
        pytest.param(f"kindest/node:v1.36.4@sha256:{'0' * 64}", "1.36.4", id="a tag with a digest"),
    ],
)
def test_version_of_image(image: str, version: str) -> None:
    assert kind_config.version_of_image(image) == version


def test_an_image_without_a_version_is_refused() -> None:
    with pytest.raises(Problem, match="has no Kubernetes version"):
        kind_config.version_of_image("kindest/node:latest")
