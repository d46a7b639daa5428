"""The chart, rendered and linted by the real Helm 3 and Helm 4."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "pilotage"


def helm(major: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HELM_MAJOR": major}
    return subprocess.run(
        [ROOT / "hack" / "helm", *words], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("major", ["3", "4"])
def test_helm_is_the_release_that_was_asked_for(major: str) -> None:
    assert helm(major, "version", "--short").stdout.startswith(f"v{major}.")


@pytest.mark.parametrize("major", ["3", "4"])
def test_the_chart_lints_and_renders(major: str) -> None:
    assert helm(major, "lint", "--strict", str(CHART)).returncode == 0
    rendered = helm(major, "template", "mine", str(CHART), "--kube-version=1.37.1")
    assert rendered.returncode == 0, rendered.stderr
    assert [document["kind"] for document in yaml.safe_load_all(rendered.stdout) if document] == ["ServiceAccount"]


@pytest.mark.parametrize("major", ["3", "4"])
def test_an_unknown_value_is_refused(major: str) -> None:
    done = helm(major, "template", "mine", str(CHART), "--set", "nonsense=1")
    assert done.returncode == 1
    assert "nonsense" in done.stderr
