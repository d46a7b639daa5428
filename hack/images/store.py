"""Where this tool keeps things: one folder in the user's cache, used by one run at a time."""

import errno
import fcntl
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from localcluster.errors import Problem
from localcluster.paths import cache_dir
from localcluster.progress import say

# buildah keeps the cache mounts of the Dockerfiles (the downloads of uv) among its temporary files.
LASTING = "buildah-cache"
ARCHIVES_KEPT = 2


@dataclass(frozen=True)
class Store:
    """The folders of this tool, below one root, and the open lock on them."""

    root: Path
    lock: int | None = None

    @property
    def temporary(self) -> Path:
        """For the time of a run, on the same disk as the results, so that a rename finishes them."""
        return self.root / "tmp"

    def log(self, title: str) -> Path:
        """The file for the output of a step."""
        folder = self.root / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{_slug(title)}.log"

    def archive(self, image: str, version: str) -> Path:
        """The archive of one version of an image."""
        folder = self.root / "archives"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{_slug(image)}@{version.removeprefix('sha256:')[:16]}.tar"

    def forget_old_archives(self, image: str) -> None:
        """Keep the newest archives of an image."""
        found = (self.root / "archives").glob(f"{_slug(image)}@*.tar")
        for archive in sorted(found, key=lambda file: file.stat().st_mtime, reverse=True)[ARCHIVES_KEPT:]:
            archive.unlink()


@contextmanager
def opened() -> Iterator[Store]:
    """The store, for this process alone until the block ends; nothing temporary is left behind."""
    root = cache_dir() / "images"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with (root / "lock").open("w") as lock:
            _wait_for(lock.fileno())
            store = Store(root, lock.fileno())
            store.temporary.mkdir(exist_ok=True)
            _sweep(store)  # what a killed run left
            try:
                yield store
            finally:
                _sweep(store)
    except OSError as error:
        raise _problem_of(error, root) from error


def disk_full(folder: Path) -> Problem:
    """The sentence for a disk without room."""
    return Problem(f"the disk of {folder} is full; free some space, or set PILOTAGE_CACHE to a folder with 3 GiB free")


def _problem_of(error: OSError, folder: Path) -> Problem:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(folder)
    file = Path(error.filename or folder)
    # The folders above ours count as ours: they may be the ones that cannot be made.
    ours = file.is_relative_to(folder) or folder.is_relative_to(file)
    way_out = "set PILOTAGE_CACHE to a writable folder" if ours else "check that it exists and that you may use it"
    return Problem(f"{file}: {error.strerror}; {way_out}")


def _wait_for(lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another run is building images; waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)


def _sweep(store: Store) -> None:
    for entry in store.temporary.iterdir():
        if entry.name.startswith(LASTING):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "_", text)
