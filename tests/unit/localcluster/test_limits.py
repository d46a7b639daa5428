"""The machine allows enough watchers of files while clusters are there, and what it allowed before afterwards."""

from pathlib import Path

import pytest

from localcluster import limits


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "max_user_instances"
    monkeypatch.setattr(limits, "WATCHERS", file)
    monkeypatch.setattr(limits, "BEFORE", tmp_path / "before")
    return file


@pytest.mark.parametrize(
    ("before", "during", "said"),
    [
        pytest.param(
            "128", "1024", "raising fs.inotify.max_user_instances from 128 to 1024", id="a machine as it comes"
        ),
        pytest.param("8192", "8192", "", id="one that allows enough"),
    ],
)
def test_raised_and_put_back(
    allowed: Path, before: str, during: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed.write_text(f"{before}\n")
    for _ in range(2):  # the second cluster finds it raised, and must not take that for how it was
        limits.raise_them()
        assert allowed.read_text().strip() == during
    for _ in range(2):
        limits.put_them_back()
        assert allowed.read_text().strip() == before
    told = capsys.readouterr().err
    assert told.count("\n") == bool(said)
    assert said in told


def test_a_machine_that_does_not_let_us_is_taken_as_it_is(
    allowed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed.write_text("128")
    monkeypatch.setattr(limits, "BEFORE", Path("/proc/none"))
    limits.raise_them()
    limits.put_them_back()
    assert allowed.read_text() == "128"
    assert capsys.readouterr().err == ""
