"""Says where in its source an expression is wrong, as kube-scheduler prints it."""

import unicodedata
from collections.abc import Iterable

from msgspec import Struct

from pilotage.model.cel.errors import CompileError

MOST = 100  # problems that are shown


class Problem(Struct, frozen=True):
    """What is wrong, and where."""

    at: int
    text: str


def refused(source: str, *problems: Problem) -> CompileError:
    """Return the error of an expression with these problems."""
    return CompileError("compilation failed: " + "\n".join(_printed(source, problems[:MOST])))


def _printed(source: str, problems: Iterable[Problem]) -> Iterable[str]:
    for problem in problems:
        before = source[: problem.at]
        line = before.count("\n")
        column = len(before) - (before.rfind("\n") + 1)
        shown = source.split("\n")[line]
        dots = "".join("．" if unicodedata.east_asian_width(sign) in "WF" else "." for sign in shown[:column])
        mark = "\uff3e" if shown[column : column + 1] and unicodedata.east_asian_width(shown[column]) in "WF" else "^"
        yield f"ERROR: <input>:{line + 1}:{column + 1}: {problem.text}\n | {shown}\n | {dots}{mark}"
