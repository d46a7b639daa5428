"""What the source of a class declares: fields and methods, in the words that the author wrote."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

_KINDS = {
    "property": "property",
    "cached_property": "property",
    "classmethod": "classmethod",
    "staticmethod": "staticmethod",
}


@dataclass(frozen=True)
class Field:
    """One annotated name of a class."""

    name: str
    type: str
    default: str
    comment: str


@dataclass(frozen=True)
class Method:
    """One public method or property of a class."""

    name: str
    signature: str
    docstring: str
    is_async: bool = False
    kind: str = ""

    def __str__(self) -> str:
        """Return it as one line of Python."""
        if self.kind == "property":
            return f"{self.name}{self.signature.partition(')')[2]}"
        marks = [f"@{self.kind}"] if self.kind else []
        return " ".join([*marks, "async def" if self.is_async else "def", f"{self.name}{self.signature}"])


def first_paragraph(docstring: str | None) -> str:
    """Return what a docstring says first, on one line."""
    return " ".join(inspect.cleandoc(docstring or "").partition("\n\n")[0].split())


def method_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Method:
    """Return a method as its source has it."""
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in function.decorator_list}
    kind = next((_KINDS[mark] for mark in sorted(marks) if mark in _KINDS), "")
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    signature = f"({ast.unparse(function.args)}){returns}"
    said = first_paragraph(ast.get_docstring(function))
    return Method(function.name, signature, said, isinstance(function, ast.AsyncFunctionDef), kind)


def fields_of(found: type) -> list[Field]:
    """Return the public fields that the class itself declares."""
    lines, body = _source(found)
    return [
        _field(statement, statement.target.id, lines)
        for statement in body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and not statement.target.id.startswith("_")
    ]


def methods_of(found: type) -> list[Method]:
    """Return the public methods that the class itself declares."""
    _, body = _source(found)
    functions = (each for each in body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return [method_of(function) for function in functions if not function.name.startswith("_")]


def _source(found: type) -> tuple[list[str], list[ast.stmt]]:
    try:
        text = textwrap.dedent(inspect.getsource(found))
    except (OSError, TypeError):  # made by a call, or not in Python
        return [], []
    [definition] = ast.parse(text).body
    assert isinstance(definition, ast.ClassDef)
    return text.splitlines(), definition.body


def _field(statement: ast.AnnAssign, name: str, lines: list[str]) -> Field:
    default = ast.unparse(statement.value) if statement.value else ""
    return Field(name, ast.unparse(statement.annotation), default, _comment(statement, lines))


def _comment(statement: ast.AnnAssign, lines: list[str]) -> str:
    """Return the comment behind a field, or the lines of comment above it."""
    last = lines[(statement.end_lineno or statement.lineno) - 1][statement.end_col_offset or 0 :]
    if "#" in last:
        return last.partition("#")[2].strip()
    above = list(_comments_upward(lines[: statement.lineno - 1]))
    return " ".join(reversed(above))


def _comments_upward(lines: list[str]) -> Iterator[str]:
    for line in reversed(lines):
        if not line.strip().startswith("#"):
            return
        yield line.strip().removeprefix("#").strip()
