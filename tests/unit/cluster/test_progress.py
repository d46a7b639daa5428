"""Long work says how far it is, once per interval, and how it ended."""

import time

import pytest

from cluster import progress


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(0.4, "0s", id="at once"),
        pytest.param(59.4, "59s", id="under a minute"),
        pytest.param(59.6, "1m00s", id="rounded up to a minute"),
        pytest.param(605, "10m05s", id="minutes"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert progress.duration(seconds) == text


def test_piped_progress_is_plain_lines_with_an_estimate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 10.0, 30.0, 40.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with progress.Step("building") as step:
        step.update(1, 100, "packages")  # too early for a line
        step.update(30, 40, "packages")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["building ...", "building: 30/40 packages, 30s, about 10s left", "building: done in 40s"]


def test_failed_work_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="broken"), progress.Step("building"):
        raise ValueError("broken")
    assert "building: failed after 0s" in capsys.readouterr().err
