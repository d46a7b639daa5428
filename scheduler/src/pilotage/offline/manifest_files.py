"""Reads documents from files, folders and standard input."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pilotage.config.documents import Document, Progress, Unreadable, documents, read_file
from pilotage.config.json_text import json_documents, looks_like_json

STDIN = "-"
ENDINGS = (".yaml", ".yml", ".json")
LARGEST = 1 << 30
MOST_REFERENCES = 1 << 20  # values that a file's aliases may expand to: enough for people, too few for a YAML bomb
# A text of this size is machine-written and has no duplicate keys, so the faster parser is used.
MACHINE_WRITTEN = 1 << 20


class NoSuchInput(Exception):
    """A name that cannot be read; the message says why."""


def find(name: str, seen: set[Path]) -> Iterator[str]:
    """Yield the files of a name that were not read yet; NoSuchInput if there are none."""
    for file in _found(name):
        if file.resolve() not in seen:
            seen.add(file.resolve())
            yield str(file)


def read(name: str, progress: Progress | None = None) -> Iterator[Document]:
    """Yield the documents of a file; Unreadable or OSError if that fails."""
    data = sys.stdin.buffer.read(LARGEST + 1) if name == STDIN else read_file(Path(name), largest=LARGEST)
    yield from parse(data, "standard input" if name == STDIN else name, progress)


def parse(data: bytes, source: str, progress: Progress | None = None) -> Iterator[Document]:
    """Yield the documents of a text; Unreadable if that fails."""
    if not looks_like_json(data):
        yield from documents(data, source, largest=LARGEST, references=MOST_REFERENCES, progress=progress)
    elif len(data) < MACHINE_WRITTEN:
        yield from json_documents(data, source, largest=LARGEST)
    else:
        yield from _fast(data, source)


def place_of(problem: Unreadable) -> str:
    """Return the position of an error, as file, document and line."""
    place = f"{problem.source}, document {problem.document or 1}"
    return f"{place}, line {problem.line}" if problem.line else place


def _found(name: str) -> list[Path]:
    path = Path(name)
    if name == STDIN or path.is_file() or path.is_fifo():
        return [path]
    if not path.is_dir():
        problem = "this is neither a file nor a folder" if path.exists() else "no such file or folder"
        raise NoSuchInput(f"{name}: {problem}")
    files = sorted(file for file in path.rglob("*") if file.suffix in ENDINGS and _is_visible(file, path))
    if not files:
        raise NoSuchInput(f"{name}: there is no file in it that ends in {', '.join(ENDINGS)}")
    return files


def _is_visible(file: Path, folder: Path) -> bool:
    # A mounted ConfigMap contains its files twice, once in hidden folders.
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)


def _fast(data: bytes, source: str) -> Iterator[Document]:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        yield from json_documents(data, source, largest=LARGEST)  # several values, or an explainable error
    else:
        yield Document(value, 1, source, data)
