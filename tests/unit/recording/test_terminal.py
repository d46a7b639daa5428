"""A recording as SVG: nothing of it is lost, and each line appears when it did."""

import re
import xml.etree.ElementTree as ET

import pytest

from recording.__main__ import PICTURE, told
from recording.terminal import AFTER, BEFORE, COLUMNS, Line, picture

SPACE = "{http://www.w3.org/2000/svg}"
LINES = [
    Line("$ diff old new"),
    Line('<         if a < b & "c":'),
    Line("$ kubectl apply -f new", 0.0),
    Line("configmap/new configured", 0.25),
    Line("  with spaces   between", 0.25),
    Line("", 1.0),
]


def texts(drawn: str) -> list[tuple[str | None, str]]:
    root = ET.fromstring(drawn)  # noqa: S314 - our own
    found = [text for group in root.iter(f"{SPACE}g") for text in group.iter(f"{SPACE}text")]
    return [(text.get("class"), text.text or "") for text in found]


def test_it_has_every_line_as_it_was_and_each_moment_once() -> None:
    assert texts(picture("A & B", "told", LINES)) == [
        ("command", "$ diff old new"),
        ("removed", '<         if a < b & "c":'),
        ("time", "0.00"),
        ("command", "$ kubectl apply -f new"),
        ("time", "0.25"),
        (None, "configmap/new configured"),
        (None, "  with spaces   between"),
        ("time", "1.00"),
        (None, ""),
    ]


def test_what_is_too_wide_goes_on_in_the_next_row() -> None:
    wide = "x" * (COLUMNS + 3)
    assert texts(picture("", "", [Line(wide)])) == [(None, "x" * COLUMNS), (None, "xxx")]


def test_lines_appear_at_their_real_distance() -> None:
    drawn = picture("", "", LINES)
    period = BEFORE + 1.0 + AFTER
    assert set(re.findall(r"animation: a\d ([\d.]+)s", drawn)) == {f"{period:.1f}"}
    hidden = [float(percent) for percent in re.findall(r"0%, ([\d.]+)% \{ opacity: 0 \}", drawn)]
    assert hidden == pytest.approx([100 * (BEFORE + at) / period for at in (0.0, 0.25, 1.0)], abs=0.01)


def test_it_is_readable_on_dark_pages_and_without_motion() -> None:
    drawn = picture("", "", LINES)
    assert "prefers-color-scheme: dark" in drawn
    assert "prefers-reduced-motion: reduce" in drawn


def test_what_is_told_has_the_times() -> None:
    assert told(LINES[1:3]) == '<         if a < b & "c":\n0.00 s: $ kubectl apply -f new'


def test_the_recording_of_the_readme_shows_the_edit_the_hash_and_the_pods() -> None:
    drawn = PICTURE.read_text(encoding="utf-8")
    assert len(drawn) < 60_000
    seen = [text for _, text in texts(drawn)]
    commands = [text for text in seen if text.startswith("$ ")]
    assert any(command.startswith("$ kubectl apply -f my-plugins.yaml") for command in commands)
    [acknowledged] = {text.split()[-1] for text in seen if text.strip().startswith("configHash:")}
    assert sum(text.endswith(f"config-hash: {acknowledged}") for text in seen) == 2, "both replicas run it"
    nodes = dict(text.split() for text in seen if re.fullmatch(r"web-\d +n\d", text))
    assert nodes == {"web-1": "n2", "web-2": "n1"}
