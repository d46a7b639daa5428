"""What decides an image's content: the Dockerfile and the files it copies."""

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from localcluster.errors import Problem


def copied(dockerfile: str) -> list[str]:
    """The paths that a Dockerfile copies from the repository (not from another stage)."""
    copies = (line.split()[1:-1] for line in dockerfile.splitlines() if line.startswith("COPY "))
    return [path for paths in copies if not paths[0].startswith("--from=") for path in paths]


def input_files(repository: Path, dockerfile: str) -> list[str]:
    """The files an image is made of, sorted, relative to the repository; the Dockerfile is one of them."""
    found = {dockerfile}
    for path in copied((repository / dockerfile).read_text()):
        found.update(_files_below(repository, path))
    return sorted(found)


def fingerprint(repository: Path, dockerfile: str, settings: Iterable[str]) -> str:
    """A hash of the input files and of the settings they are built with."""
    digest = hashlib.sha256(repr(tuple(settings)).encode())
    for path in input_files(repository, dockerfile):
        content = (repository / path).read_bytes()
        digest.update(f"\0{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def stage(repository: Path, dockerfile: str, context: Path) -> None:
    """Copy the input files, and nothing else, to a folder that serves as build context."""
    for path in input_files(repository, dockerfile):
        target = context / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repository / path, target)


def _files_below(repository: Path, path: str) -> Iterator[str]:
    start = repository / path
    if not start.exists():
        raise Problem(f"a Dockerfile copies {path}, which {repository} does not have; restore it or correct the COPY")
    candidates = [start] if start.is_file() else start.rglob("*")
    for file in candidates:
        inside = file.relative_to(repository)
        # Bytecode and the hidden files of editors come and go without a change of ours.
        if file.is_file() and "__pycache__" not in inside.parts and not file.name.startswith("."):
            yield str(inside)
