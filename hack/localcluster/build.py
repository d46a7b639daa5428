"""Builds a tool once per user, into a cache that every checkout shares."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localcluster.binaries import Tool
from localcluster.errors import Problem
from localcluster.go_toolchain import Go, find_go, minimum_of
from localcluster.paths import cache_dir
from localcluster.progress import Step, say

ROOM_FOR_BINARIES = 1 << 30


def is_built(tool: Tool) -> bool:
    """Whether this user has built the tool before."""
    return _target(tool).is_dir()


def ensure(tool: Tool) -> Path:
    """The folder that holds the tool's commands, built now if this user never built them."""
    target = _target(tool)
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(target.with_name(f"{target.name}.lock"), tool):
            if not target.is_dir():
                _build(tool, target)
    except OSError as error:
        raise Problem(
            f"The cache {cache_dir()} is not writable ({error.strerror}); set PILOTAGE_CACHE to a writable folder"
        ) from error
    return target


def _target(tool: Tool) -> Path:
    return cache_dir() / "bin" / _key(tool)


def _key(tool: Tool) -> str:
    """Version plus everything else that decides what comes out."""
    inputs = hashlib.sha256(repr((tool.commands, tool.linker_flags, tool.files)).encode())
    for file in sorted(tool.folder.iterdir()):
        inputs.update(file.read_bytes())
    return f"{tool.name}-{tool.version}-{inputs.hexdigest()[:10]}"


@contextmanager
def _only_one(lock: Path, tool: Tool) -> Iterator[None]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another run is building {tool.name} {tool.version}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(tool: Tool, target: Path) -> None:
    if shutil.disk_usage(target.parent).free < ROOM_FOR_BINARIES:
        raise Problem(
            f"Building {tool.name} {tool.version} needs 1 GiB in {target.parent}, and less is free; "
            "free some space, or set PILOTAGE_CACHE to a folder that has it"
        )
    go = find_go(minimum_of(tool.go_mod))
    for left_over in target.parent.glob(f".{target.name}-*"):  # of a build that was killed
        shutil.rmtree(left_over)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as unfinished:
        folder = Path(unfinished) / "bin"
        folder.mkdir()
        packages = _fetch(tool, go)
        _compile(tool, go, folder, packages)
        _take_files(tool, go, folder)
        folder.rename(target)


def _fetch(tool: Tool, go: Go) -> int:
    """Download the modules that the commands need, and count their packages."""
    listing = [go.command, "list", "-deps", *tool.commands.values()]
    with Step(f"fetching the modules of {tool.name} {tool.version}"):
        done = subprocess.run(
            listing, cwd=tool.folder, env=go.environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Problem(_failure(tool, "fetching its modules", done.stderr))
    return len(done.stdout.splitlines())


def _compile(tool: Tool, go: Go, folder: Path, packages: int) -> None:
    command = [go.command, "build", "-v", "-trimpath", "-ldflags", tool.linker_flags]
    command += ["-o", f"{folder}/", *tool.commands.values()]
    last: deque[str] = deque(maxlen=40)
    with Step(f"building {tool.name} {tool.version}") as step:
        with subprocess.Popen(
            command, cwd=tool.folder, env=go.environment(), stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            try:
                for done, line in enumerate(process.stderr, start=1):
                    last.append(line)
                    step.update(min(done, packages), packages, "packages")
            except BaseException:
                process.terminate()
                raise
        if process.returncode:
            raise Problem(_failure(tool, "building it", "".join(last)))
    for name, package in tool.commands.items():
        (folder / _default_name(package)).rename(folder / name)


def _default_name(package: str) -> str:
    """The file name that `go build` gives a package's command: its last part that is no major version."""
    parts = package.split("/")
    return parts[-2] if re.fullmatch(r"v\d+", parts[-1]) else parts[-1]


def _take_files(tool: Tool, go: Go, folder: Path) -> None:
    if not tool.files:
        return
    where = [go.command, "list", "-m", "-f", "{{.Dir}}", tool.module]
    answer = subprocess.run(where, cwd=tool.folder, env=go.environment(), capture_output=True, text=True, check=True)
    source = Path(answer.stdout.strip())
    for name, parts in tool.files.items():
        (folder / name).write_text("\n---\n".join((source / part).read_text() for part in parts))


def _failure(tool: Tool, doing: str, output: str) -> str:
    if "no space left on device" in output:
        places = {name: os.environ.get(name) for name in ("GOCACHE", "GOMODCACHE", "TMPDIR", "PILOTAGE_CACHE")}
        chosen = ", ".join(f"{name}={value}" for name, value in places.items() if value) or "the home folder"
        return (
            f"The disk is full ({tool.name}, {doing}): free space in {chosen} (a first build needs about 15 GB in all) "
            "or set GOCACHE, GOMODCACHE and PILOTAGE_CACHE to a larger disk"
        )
    telling = [line for line in output.splitlines() if line.strip() and not line.startswith("go: downloading")]
    said = "\n  ".join(line for line in telling[-8:])
    return f"{tool.name} {tool.version}: {doing} failed; is the Go module proxy reachable? Go printed:\n  {said}"
