import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from images.commands import LoggedCommands
from images.store import Store, opened
from localcluster.errors import Problem


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PILOTAGE_CACHE", str(tmp_path))
    return tmp_path / "images"


@pytest.fixture
def store(cache: Path) -> Iterator[Store]:
    with opened() as store:
        yield store


def _python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_nothing_temporary_is_left_but_the_downloads(cache: Path) -> None:
    (cache / "tmp" / "of-a-killed-run").mkdir(parents=True)
    (cache / "tmp" / "buildah-cache").mkdir()
    with opened() as store:
        assert [entry.name for entry in store.temporary.iterdir()] == ["buildah-cache"]
        (store.temporary / "folder").mkdir()
        (store.temporary / "file").touch()
    assert [entry.name for entry in (cache / "tmp").iterdir()] == ["buildah-cache"]


def test_one_run_at_a_time(store: Store) -> None:
    with (store.root / "lock").open("w") as second, pytest.raises(BlockingIOError):
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_cache_that_cannot_be_made_is_a_problem_with_the_way_out(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(Problem, match="set PILOTAGE_CACHE"), opened():
        pass


def test_another_file_that_cannot_be_used_is_named_without_a_word_on_the_cache(cache: Path) -> None:
    with pytest.raises(Problem, match=r"/no/such/file: No such file or directory; check that it exists"), opened():
        Path("/no/such/file").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_named_when_we_write_ourselves(cache: Path) -> None:
    with pytest.raises(Problem, match=r"disk .* is full; free some space, or set PILOTAGE_CACHE"), opened():
        Path("/dev/full").write_text("x")


def test_only_the_newest_archives_of_an_image_are_kept(store: Store) -> None:
    for age, version in enumerate(["new", "older", "oldest"]):
        archive = store.archive("localhost/a:dev", version)
        archive.touch()
        os.utime(archive, (1000 - age, 1000 - age))
    other = store.archive("localhost/a:dev2", "new")
    other.touch()
    store.forget_old_archives("localhost/a:dev")
    kept = sorted(file.name for file in other.parent.iterdir())
    assert kept == ["localhost_a_dev2@new.tar", "localhost_a_dev@new.tar", "localhost_a_dev@older.tar"]


def test_a_program_that_fails_shows_its_last_lines_and_its_log(store: Store) -> None:
    commands = LoggedCommands(store, os.environ)
    with pytest.raises(Problem) as caught:
        commands.run("making it", _python("for i in range(100): print('line', i)\nraise SystemExit(3)"))
    text = str(caught.value)
    assert text.startswith("making it failed with status 3; ")
    assert "line 99" in text
    assert "line 50" not in text
    assert str(store.log("making it")) in text


@pytest.mark.parametrize(
    "message",
    ["write /x: no space left on device", "dpkg: error: No space left on device", "Disk quota exceeded"],
)
def test_a_program_that_met_a_full_disk_gets_the_sentence_for_it(store: Store, message: str) -> None:
    commands = LoggedCommands(store, os.environ)
    with pytest.raises(Problem, match=r"is full; free some space"):
        commands.run("making it", _python(f"raise SystemExit({message!r})"))


def test_programs_keep_their_temporary_files_in_the_store_and_hold_its_lock(store: Store) -> None:
    commands = LoggedCommands(store, os.environ)
    commands.run("looking", _python(f"import os; os.fstat({store.lock}); print(os.environ['TMPDIR'])"))
    assert store.log("looking").read_text().strip() == str(store.temporary)


def test_a_program_that_is_missing_or_slow_answers_nothing(store: Store) -> None:
    commands = LoggedCommands(store, os.environ)
    assert commands.read(["no-such-program-anywhere"]) is None
    assert commands.read(_python("import time; time.sleep(30)"), seconds=0.2) is None
    assert commands.read(_python("raise SystemExit(1)")) is None
    assert commands.read(_python("print('yes')")) == "yes\n"
