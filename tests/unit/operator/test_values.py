"""The profiles of the values: read when the file changes, and never half."""

import os
from pathlib import Path

import pytest

from pilotage_operator.profiles.world import KeptProfile
from pilotage_operator.values import Unreadable, ValuesFile, profiles_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", (), id="an empty file keeps nothing"),
        pytest.param("[]", (), id="an empty list keeps nothing"),
        pytest.param("- {name: a}", (KeptProfile("a", {}),), id="a profile without a spec"),
        pytest.param("- {name: a, spec: {base: None}}", (KeptProfile("a", {"base": "None"}),), id="one with a spec"),
    ],
)
def test_profiles_are_read(text: str, found: tuple[KeptProfile, ...]) -> None:
    assert profiles_in(text.encode()) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("a: 1", "not a list", id="a map"),
        pytest.param("- 1", "no name", id="an entry that is no map"),
        pytest.param("- {name: a, spec: 3}", "not a map", id="a spec that is no map"),
        pytest.param("- [", "not YAML", id="not YAML"),
    ],
)
def test_what_is_no_list_of_profiles_is_refused(text: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        profiles_in(text.encode())


def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "profiles.yaml"
    file = ValuesFile(path)
    assert file.profiles() is None, "nobody said anything yet"
    path.write_text("- {name: a}")
    assert file.profiles() == (KeptProfile("a", {}),)
    path.write_text("- {name: b}")
    os.utime(path, ns=(1, 1))
    assert file.profiles() == (KeptProfile("b", {}),)
    path.write_text("- {")
    assert file.profiles() == (KeptProfile("b", {}),), "what cannot be read changes nothing"
    path.unlink()
    assert file.profiles() == (KeptProfile("b", {}),)


def test_without_a_file_nobody_says_anything() -> None:
    assert ValuesFile(None).profiles() is None
