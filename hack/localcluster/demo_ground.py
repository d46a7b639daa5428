"""Where the demo runs, and which checkout started it: there is one demo per user."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from localcluster import real_kind, record
from localcluster.binaries import wanted_kubernetes
from localcluster.paths import REPOSITORY, state_dir
from localcluster.progress import say

# kind: the real one, with Docker. own nodes: without Docker, as root. fake nodes: where neither is.
Ground = Literal["kind", "own nodes", "fake nodes"]


def find_ground(name: str) -> Ground:
    """What the demo's cluster is made of, or will be."""
    if cluster := record.load(name):
        return "own nodes" if cluster.shape == "full" else "fake nodes"
    if name in real_kind.cluster_names() or real_kind.makes_nodes([], wanted_kubernetes()):
        return "kind"
    return "own nodes" if os.geteuid() == 0 else "fake nodes"


@contextmanager
def ours() -> Iterator[str]:
    """Hold the demo against other checkouts that bring it up; gives the one that did so last, if it was another."""
    with _file().open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another `make demo` is running in {_read()}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        before = _read()
        file.truncate(0)
        file.write(str(REPOSITORY))
        file.flush()
        yield "" if before == str(REPOSITORY) else before


def started_elsewhere() -> str:
    """The other checkout that brought the demo up last; "" if there is none."""
    before = _read() if _file().exists() else ""
    return "" if before == str(REPOSITORY) else before


def forget() -> None:
    """Forget the running demo."""
    _file().write_text("")


def _read() -> str:
    return _file().read_text().strip()


def _file() -> Path:
    state_dir().mkdir(parents=True, exist_ok=True)
    return state_dir() / ".demo"
