"""Says where in its source an expression is wrong, as kube-scheduler prints it."""

from collections.abc import Iterable

from msgspec import Struct

from pilotage.model.cel.errors import CompileError

MOST = 100  # problems that are shown
WIDE_DOT, WIDE_MARK = "\uff0e", "\uff3e"  # below all that is not ASCII


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
        dots = "".join("." if sign.isascii() else WIDE_DOT for sign in shown[:column])
        mark = "^" if shown[column : column + 1].isascii() else WIDE_MARK
        yield f"ERROR: <input>:{line + 1}:{column + 1}: {problem.text}\n | {shown}\n | {dots}{mark}"
