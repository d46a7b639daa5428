"""Where a Docker engine answers, the real kind gets our arguments with the same nodes and version."""

from pathlib import Path

import pytest

from cluster import real_kind


@pytest.mark.parametrize(
    ("given", "kubernetes", "expected"),
    [
        pytest.param(["get", "clusters"], "1.37.1", ["get", "clusters"], id="other verbs pass unchanged"),
        pytest.param(
            ["create", "cluster", "--name=x"],
            "1.37.1",
            ["create", "cluster", "--name=x", f"--config={real_kind.TWO_WORKERS}"],
            id="a new cluster gets two workers",
        ),
        pytest.param(
            ["create", "cluster", "--config", "mine.yaml"],
            "1.36.4",
            ["create", "cluster", "--config", "mine.yaml", "--image=kindest/node:v1.36.4"],
            id="a user's own configuration stays, the version is added",
        ),
        pytest.param(
            ["create", "cluster", "--config=mine.yaml", "--image=other:v1.35.4"],
            "1.36.4",
            ["create", "cluster", "--config=mine.yaml", "--image=other:v1.35.4"],
            id="a user's own image stays",
        ),
    ],
)
def test_arguments(given: list[str], kubernetes: str, expected: list[str]) -> None:
    assert real_kind.arguments(given, kubernetes) == expected


@pytest.mark.parametrize(
    ("script", "answers"),
    [
        pytest.param("#!/bin/sh\nexit 0\n", True, id="an engine answers"),
        pytest.param("#!/bin/sh\nexit 1\n", False, id="only the client is there"),
        pytest.param(None, False, id="nothing is there"),
    ],
)
def test_engine_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, answers: bool) -> None:
    if script:
        (tmp_path / "docker").write_text(script)
        (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PILOTAGE_ENGINE", raising=False)
    assert real_kind.engine_answers() is answers
