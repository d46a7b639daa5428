"""Columns, and what a person sees who waits."""

import io
import sys

import pytest

from pilotage.cli import progress as subject
from pilotage.cli.progress import Progress
from pilotage.cli.tables import filled_columns, table


def test_columns_are_aligned_and_lines_have_no_tails() -> None:
    assert table(("NAME", "N"), [("long-name", "1"), ("x", "22")], right=[1]) == (
        "NAME        N\nlong-name   1\nx          22"
    )
    assert table(("A", "B"), [("1", "")], indent="  ") == "  A  B\n  1"


def test_a_cell_is_one_line() -> None:
    assert table(("A",), [("one\ntwo\tthree",)]) == "A\none two three"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(subject, "monotonic", lambda: now[0])
    return now


def test_long_work_at_a_terminal_is_shown_with_an_estimate(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = Progress("scheduling pods")
    for clock[0], done in ((0.5, 10), (2.0, 100), (2.1, 101), (4.0, 200)):
        progress(done, 1000)
    progress.end()
    assert terminal.getvalue().split("\r\033[K") == [
        "",
        "scheduling pods: 10%, about 18 s left",
        "scheduling pods: 20%, about 16 s left",
        "",
    ]


def test_nobody_looks_at_a_pipe(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    progress = Progress("scheduling pods")
    clock[0] = 5.0
    progress(1, 2)
    progress.end()
    assert pipe.getvalue() == ""


def test_a_column_that_is_empty_in_every_row_is_left_out() -> None:
    assert filled_columns(["A", "B", "C"], [["1", "", "x"], ["22", "", "y"]], right=(0, 1)) == " A  C\n 1  x\n22  y"
    assert filled_columns(["A"], []) == ""
