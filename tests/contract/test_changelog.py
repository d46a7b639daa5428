"""CHANGELOG.md is one of Keep a Changelog, and its entries are short."""

from release import changelog


def test_the_changelog_is_one_of_keep_a_changelog() -> None:
    assert list(changelog.faults(changelog.text_of())) == []


def test_fixes_stand_under_fixed() -> None:
    unreleased = changelog.versions(changelog.text_of())[0]
    assert {"Added", "Fixed"} <= set(unreleased.kinds)
