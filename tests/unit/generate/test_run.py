"""`python -m generate`: writes what is stale, and a check names it."""

from pathlib import Path

import pytest

from generate.run import FILES, main
from localcluster.paths import REPOSITORY


def test_the_files_of_this_repository_are_fresh() -> None:
    assert main(["--check"]) == 0


def test_a_check_names_what_is_stale_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], tmp_path) == 0
    stale = next(iter(FILES))
    (tmp_path / stale).write_text("by hand")
    capsys.readouterr()
    assert main(["--check"], tmp_path) == 1
    told = capsys.readouterr()
    assert told.out == f"stale: {stale}\n"
    assert "run `make generate`" in told.err
    assert (tmp_path / stale).read_text() == "by hand"


def test_a_missing_file_is_stale(tmp_path: Path) -> None:
    assert main(["--check"], tmp_path) == 1
    assert not list(tmp_path.iterdir())


def test_what_it_writes_is_fresh_and_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], tmp_path) == 0
    assert capsys.readouterr().out == "".join(f"written: {name}\n" for name in FILES)
    assert main([], tmp_path) == 0
    assert capsys.readouterr().out == ""
    assert main(["--check"], tmp_path) == 0


@pytest.mark.parametrize("name", FILES)
def test_the_text_is_the_same_each_time(name: str) -> None:
    assert FILES[name]() == FILES[name]() == (REPOSITORY / name).read_text(encoding="utf-8")
