"""Files, folders and standard input as documents."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pilotage.config.documents import Document, Progress, Unreadable, documents, read_file
from pilotage.config.json_text import json_documents, looks_like_json

STDIN = "-"
ENDINGS = (".yaml", ".yml", ".json")
LARGEST = 1 << 30
MOST_REFERENCES = 1 << 20  # values that a file's aliases may expand to: enough for people, too few for a bomb
# No person writes so much, and a machine repeats no key: a text of this size is read by the faster reader.
MACHINE_WRITTEN = 1 << 20


class NoSuchInput(Exception):
    """A name that cannot be read; the text says why."""


def find(name: str, seen: set[Path]) -> Iterator[str]:
    """Yield the files behind a name that were not seen yet; NoSuchInput if there are none."""
    for file in _found(name):
        if file.resolve() not in seen:
            seen.add(file.resolve())
            yield str(file)


def read(name: str, progress: Progress | None = None) -> Iterator[Document]:
    """Yield the documents of a file; Unreadable and OSError say what is wrong."""
    data = sys.stdin.buffer.read(LARGEST + 1) if name == STDIN else read_file(Path(name), largest=LARGEST)
    yield from parse(data, "standard input" if name == STDIN else name, progress)


def parse(data: bytes, source: str, progress: Progress | None = None) -> Iterator[Document]:
    """Yield the documents of a text; Unreadable says what is wrong."""
    if not looks_like_json(data):
        yield from documents(data, source, largest=LARGEST, references=MOST_REFERENCES, progress=progress)
    elif len(data) < MACHINE_WRITTEN:
        yield from json_documents(data, source, largest=LARGEST)
    else:
        yield from _fast(data, source)


def place_of(problem: Unreadable) -> str:
    """Return where a document cannot be read, as file, document and line."""
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
    # A mounted ConfigMap contains its files twice, once in folders whose names begin with a dot.
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)


def _fast(data: bytes, source: str) -> Iterator[Document]:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        yield from json_documents(data, source, largest=LARGEST)  # several values, or one that it can explain
    else:
        yield Document(value, 1, source, data)
