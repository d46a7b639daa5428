"""Long work says how far it is, once per interval, and how it ended."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcluster import progress


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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands where the list says."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_step_tells_how_far_it_is_and_when_it_will_be_done(clock: list[float]) -> None:
    step = progress.Step("building")
    clock[0] = 30
    assert step.text() == "building: 30s", "nothing is known yet"
    step.update(30, 40, "packages")
    assert step.text() == "building: 30/40 packages, 30s, about 10s left"
    step.update(40, 40, "packages")
    clock[0] = 65
    assert step.text() == "building: 40/40 packages, 1m05s", "the last of it cannot be counted"


def test_piped_progress_is_plain_lines_also_while_the_work_says_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_INTERVAL_SECONDS", 0.05)
    with progress.Step("building"):
        time.sleep(0.3)
    first, *between, last = capsys.readouterr().err.splitlines()
    assert (first, last) == ("building ...", "building: done in 0s")
    assert set(between) == {"building: 0s"}
    assert "\r" not in first + last


def test_several_pieces_have_one_estimate(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    whole = progress.Whole({"a": 100, "b": 300})
    assert whole.seconds == 200, "twice the cores, half the time"
    with whole.piece("a"):
        step = progress.Step("building a")
        assert step.text().endswith("about 3m20s left in total"), "nothing is known of this machine yet"
        clock[0] = 40
        step.update(50, 100, "packages")
        # A half of 100 took 40 seconds: what is left, 350, takes 280.
        assert step.text() == "building a: 50/100 packages, 40s, about 4m40s left in total"
        archive = progress.Step("writing a")
        assert archive.text().endswith("about 4m40s left in total"), "a new step forgets nothing of the piece"
    with whole.piece("b"):
        assert progress.Step("building b").text().endswith("about 2m00s left in total")
    assert progress.Step("something else").text() == "something else: 0s"


@given(parts=st.lists(st.floats(0, 1), max_size=20))
def test_the_estimate_is_never_negative_and_ends_at_nothing(parts: list[float]) -> None:
    whole = progress.Whole({"a": 10, "b": 5})
    with whole.piece("a"):
        assert all(whole.left(part) >= 0 for part in parts)
    with whole.piece("b"):
        assert whole.left(1) == 0


def test_failed_work_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="broken"), progress.Step("building"):
        raise ValueError("broken")
    assert "building: failed after 0s" in capsys.readouterr().err
