"""The chart as the real Helm renders it: once for each set of values, and for all tests."""

import subprocess
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import pytest
import yaml

from localcluster.binaries import TOOLS
from localcluster.build import ensure
from localcluster.paths import REPOSITORY

CHART = REPOSITORY / "charts" / "pilotage"
VARIANTS = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").iterdir())

Answer: TypeAlias = subprocess.CompletedProcess[str]
Helm: TypeAlias = Callable[..., Answer]
Manifest: TypeAlias = dict[str, Any]
Rendered: TypeAlias = list[Manifest]
Render: TypeAlias = Callable[..., Rendered]


def helm_answer(major: int, *words: str, stdin: str | None = None) -> Answer:
    program = ensure(TOOLS[f"helm{major}"]) / "helm"
    return subprocess.run([program, *words], input=stdin, capture_output=True, text=True, timeout=60, check=False)


def template(
    major: int, *words: str, stdin: str | None = None, release: str = "mine", namespace: str = "team"
) -> Answer:
    place = (release, str(CHART), f"--namespace={namespace}", "--kube-version=1.37.1")
    return helm_answer(major, "template", *place, *words, stdin=stdin)


@cache
def _objects(major: int, variant: str) -> Rendered:
    return _parsed(template(major, f"--values={CHART / 'ci' / variant}-values.yaml"))


def _parsed(answer: Answer) -> Rendered:
    assert answer.returncode == 0, answer.stderr
    # The loader in C: the definition of SchedulerProfile alone has a thousand lines.
    return [document for document in yaml.load_all(answer.stdout, yaml.CSafeLoader) if document]


@pytest.fixture
def helm() -> Helm:
    """Any command of Helm 3 or Helm 4."""
    return helm_answer


@pytest.fixture(params=VARIANTS)
def rendered(request: pytest.FixtureRequest) -> Rendered:
    """All objects of one variant, for each variant."""
    return _objects(4, request.param)


@pytest.fixture
def render() -> Render:
    """The objects of a variant, or of values that a test has."""

    def objects(variant: str = "default", major: int = 4) -> Rendered:
        return _objects(major, variant)

    return objects


@pytest.fixture
def render_values() -> Render:
    """The objects of values."""

    def objects(values: Manifest, *flags: str, **place: str) -> Rendered:
        return _parsed(template(4, "--values=-", *flags, stdin=yaml.safe_dump(values), **place))

    return objects


@pytest.fixture
def refuse() -> Callable[[Manifest], str]:
    """What Helm says about values that it must refuse."""

    def said(values: Manifest) -> str:
        answer = template(4, "--values=-", stdin=yaml.safe_dump(values))
        assert answer.returncode == 1, answer.stdout
        return answer.stderr

    return said
