"""Keep a Changelog, read and judged."""

import pytest

from release.changelog import LONGEST_ENTRY, faults, notes, versions

GOOD = """\
# Changelog

Words before the first version count as nothing.

## [Unreleased]

### Added

- A flag, in
  two lines.

### Fixed

- A fault.

## [0.1.0] - 2030-01-31

### Added

- The beginning.
"""


def test_versions_have_their_entries_by_kind() -> None:
    unreleased, first = versions(GOOD)
    assert (unreleased.name, unreleased.date) == ("Unreleased", None)
    assert unreleased.kinds == {"Added": ["A flag, in two lines."], "Fixed": ["A fault."]}
    assert (first.name, first.date, first.kinds) == ("0.1.0", "2030-01-31", {"Added": ["The beginning."]})


def test_nothing_is_wrong_with_a_good_one() -> None:
    assert list(faults(GOOD)) == []


def test_notes_are_the_text_below_the_heading() -> None:
    assert notes(GOOD, "0.1.0") == "### Added\n\n- The beginning.\n"
    assert notes(GOOD, "0.2.0") == ""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        pytest.param("## [Unreleased]\n", "## [0.2.0] - 2030-02-01\n", "the first version is not", id="no Unreleased"),
        pytest.param(" - 2030-01-31", "", "a released version has a date", id="a release without a date"),
        pytest.param("### Fixed", "### Bugs", "are not of Added, Changed", id="a kind that is none"),
        pytest.param("### Added\n\n- A flag", "### Security\n\n- A flag", "in this order", id="kinds out of order"),
        pytest.param("- A fault.\n", "", "Fixed is empty", id="a heading with nothing below it"),
        pytest.param("A fault.", "A flag, in two lines.", "twice: A flag", id="one entry two times"),
        pytest.param("A fault.", "A fault " * 60, f"of {LONGEST_ENTRY} at the most", id="an entry as long as a page"),
    ],
)
def test_a_fault_is_named(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    assert any(fault in each for each in faults(GOOD.replace(old, new, 1)))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("## 0.0.9", id="a version without brackets"),
        pytest.param("A sentence on its own.", id="text that is no entry"),
    ],
)
def test_a_line_that_is_no_part_of_it_is_named_by_its_number(line: str) -> None:
    with pytest.raises(ValueError, match=r"line 21: "):
        versions(f"{GOOD}{line}\n")
