"""The commands that the pages of the repository print, in their order, with the output that is printed below them.

A command is a line of a block that is marked `sh`, or a line after `$ ` in a block without a mark; there, what follows
is its output. A file that a page shows with its name in the first line (`# batch.yaml`) is there for its commands.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from localcluster.paths import REPOSITORY

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w.-]+\.(?:yaml|py))\n")
PROMPT = "$ "
COMMENT = re.compile(r"(?:^|\s+)#[^'\"]*$")
# What a reader would type, in a block that says nothing of itself; a synopsis has brackets.
LOOKS_TYPED = re.compile(
    r"^(?!.*\[)(?:\w+=\S+ )*(?:pilotage|kubectl|helm|make|curl|hack/\w+|\S*python3?) ", re.MULTILINE
)


@dataclass(frozen=True)
class Printed:
    """A command of a page; `output` is None where the page shows none."""

    page: str
    line: int
    command: str
    output: str | None = None

    def __str__(self) -> str:
        """Return where it is, and the command."""
        return f"{self.page}:{self.line}: {self.command}"


def pages() -> list[Path]:
    """Return all pages with commands; the other README is compared with the English one."""
    names = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "charts/pilotage/README.md")
    documents = sorted((REPOSITORY / "docs").rglob("*.md"))
    return [REPOSITORY / name for name in names] + documents


def commands_of(page: Path) -> list[Printed]:
    """Return the commands of a page in their order."""
    text = page.read_text()
    name = str(page.relative_to(REPOSITORY))
    return [
        Printed(name, text.count("\n", 0, block.start(2)) + offset + 1, command, output)
        for block in FENCE.finditer(text)
        for offset, command, output in _found(block[1], block[2])
    ]


def files_of(page: Path) -> dict[str, str]:
    """Return the files that a page shows, by name; the last of a name counts."""
    blocks = (block[2] for block in FENCE.finditer(page.read_text()))
    return {match[1]: block for block in blocks if (match := FILE_NAME.match(block))}


def unmarked(page: Path) -> list[str]:
    """Return lines that look as if they were to be typed, in blocks where nobody would find them."""
    plain = (block[2] for block in FENCE.finditer(page.read_text()) if block[1] == "")
    return [line[0] for block in plain if not _is_session(block) for line in LOOKS_TYPED.finditer(block)]


def _found(language: str, block: str) -> Iterator[tuple[int, str, str | None]]:
    if language == "sh":
        for offset, line in _logical_lines(block):
            if command := COMMENT.sub("", line).strip():
                yield offset, command, None
    elif language == "" and _is_session(block):
        yield from _session(block)


def _is_session(block: str) -> bool:
    return block.startswith(PROMPT)


def _logical_lines(block: str) -> Iterator[tuple[int, str]]:
    """Yield lines; those that a backslash or an open quote continues are one."""
    held: list[str] = []
    for offset, line in enumerate(block.splitlines()):
        held.append(line)
        if not line.endswith("\\") and _is_closed("\n".join(held)):
            yield offset - len(held) + 1, "\n".join(held)
            held = []


def _is_closed(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return True


def _session(block: str) -> Iterator[tuple[int, str, str]]:
    lines = block.splitlines()
    starts = [offset for offset, line in enumerate(lines) if line.startswith(PROMPT)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield start, lines[start].removeprefix(PROMPT), "\n".join(lines[start + 1 : end]).strip()
