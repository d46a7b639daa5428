"""The chart, linted and rendered by the real Helm 3 and Helm 4."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CHART = Path(__file__).parents[2] / "charts" / "pilotage"
COMPONENTS = {"scheduler", "operator", "monitoring", "crds", "tests"}
OF_NO_COMPONENT = ("NOTES.txt", "explainer-clusterrole.yaml", "extra-objects.yaml")
VARIANTS = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").iterdir())


@pytest.mark.parametrize("major", [3, 4])
def test_helm_is_the_release_that_was_asked_for(helm: Callable[..., Any], major: int) -> None:
    assert helm(major, "version", "--short").stdout.startswith(f"v{major}.")


@pytest.mark.parametrize("major", [3, 4])
def test_the_chart_lints(helm: Callable[..., Any], major: int) -> None:
    said = helm(major, "lint", "--strict", str(CHART))
    assert said.returncode == 0, said.stdout


@pytest.mark.parametrize("variant", VARIANTS)
def test_both_helms_render_the_same(render: Callable[..., list[Any]], variant: str) -> None:
    old, new = (sorted(render(variant, major), key=json.dumps) for major in (3, 4))
    assert old == new


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_says_what_it_is(variant: str) -> None:
    assert (CHART / "ci" / f"{variant}-values.yaml").read_text().startswith("# ")


def test_every_file_is_a_template_of_a_component() -> None:
    files = [path.relative_to(CHART / "templates") for path in (CHART / "templates").rglob("*") if path.is_file()]
    assert {path.parts[0] for path in files if len(path.parts) > 1} == COMPONENTS
    assert all(len(path.parts) == 2 for path in files if path.suffix == ".yaml" and path.name not in OF_NO_COMPONENT)
    alone = [path.name for path in files if len(path.parts) == 1 and path.suffix != ".tpl"]
    assert sorted(alone) == sorted(OF_NO_COMPONENT)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(
            [],
            [
                "in namespace team",
                "kubectl get schedprof mine-pilotage",
                "kubectl run hello",
                "kubectl describe pod hello",
                "helm test mine --namespace team || kubectl -n team logs mine-pilotage-test",
            ],
            id="plain",
        ),
        pytest.param(["operator.replicaCount=0"], ["operator.replicaCount is 0"], id="without an operator"),
        pytest.param(["plugins.disabled={PrioritySort}"], ["names PrioritySort, which changes nothing"], id="a sort"),
        pytest.param(["pluginConfig[0].name=Gone"], ["arguments for Gone, which is not enabled"], id="arguments"),
        pytest.param(
            ["scheduler.createProfile=false"],
            ["Apply a SchedulerProfile", "kubectl -n team logs"],
            id="without a profile",
        ),
        pytest.param(
            [],
            [
                "localhost/pilotage-scheduler:0.1.0 and localhost/pilotage-operator:0.1.0",
                "no node can pull an image from localhost",
                "set image.registry and image.tag",
            ],
            id="images that no node can pull",
        ),
        pytest.param(
            ["scheduler.image=registry.example.com/mine:1"],
            ["registry.example.com/mine:1 and localhost/pilotage-operator:0.1.0", "no node can pull"],
            id="one image that no node can pull",
        ),
        pytest.param(
            ["image.registry=registry.example.com/team", "image.tag=v1"],
            ["registry.example.com/team/pilotage-operator:v1", "correct image.registry and image.tag"],
            id="images in a registry",
        ),
    ],
)
def test_notes(helm: Callable[..., Any], values: list[str], expected: list[str]) -> None:
    flags = ["--dry-run=client", "--namespace=team", *(f"--set={value}" for value in values)]
    notes = helm(4, "install", "mine", str(CHART), *flags).stdout.partition("\nNOTES:\n")[2]
    assert [text for text in expected if text not in notes] == []
