"""docs/plugin-api.md: every name that `pilotage.plugin` exports, for authors of plugins."""

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from types import ModuleType

from generate.declared_class import Field, Method, fields_of, first_paragraph, method_of, methods_of

MODULE = "pilotage.plugin"
SOURCE = "scheduler/src/pilotage/plugin.py"
HEADER = f"<!-- generated from {SOURCE} by make generate; do not edit -->"

_INTRODUCTION = """\
# `{module}`: all that a plugin imports

{about}

[plugins.md](plugins.md) shows how to write and test a plugin. This page has every name that `{module}` exports, in the
order of its `__all__`. A name on this page stays, or is deprecated first ([RELEASE.md](../RELEASE.md#deprecation));
what is not here may change with any release.

| name | kind | what it is |
| --- | --- | --- |
"""


def text(module: ModuleType | None = None) -> str:
    """Return the whole page."""
    module = module or importlib.import_module(MODULE)
    exported = {name: getattr(module, name) for name in module.__all__}
    about = inspect.cleandoc(module.__doc__ or "")
    head = _INTRODUCTION.format(module=MODULE, about=about)
    rows = "".join(
        f"| {_link(name)} | {kind_of(found)} | {_cell(_about(found))} |\n" for name, found in exported.items()
    )
    sections = (_section(name, found, exported) for name, found in exported.items())
    return "\n".join([HEADER, "", f"{head}{rows}", *sections])


def kind_of(found: object) -> str:
    """Return what a reader would call the thing."""
    if isinstance(found, type) and not _is_alias(found):
        return _kind_of_class(found)
    if inspect.isroutine(found):
        return "function"
    return "type" if _is_alias(found) else "constant"


def _kind_of_class(found: type) -> str:
    if issubclass(found, BaseException):
        return "exception"
    if issubclass(found, Enum):
        return "enum"
    if getattr(found, "_is_protocol", False):
        return "protocol"
    return "dataclass" if dataclasses.is_dataclass(found) else "class"


def _is_alias(found: object) -> bool:
    return hasattr(found, "__origin__") or hasattr(found, "__args__") or hasattr(found, "__value__")


def _about(found: object) -> str:
    if isinstance(found, type) or inspect.isroutine(found):
        return first_paragraph(found.__doc__)
    return f"`{_value(found)}`"


def _value(found: object) -> str:
    """Return a constant or a type in few words that are the same in every run."""
    if isinstance(found, Enum):
        return f"{type(found).__name__}.{found.name}"
    said = _without_modules(str(getattr(found, "__value__", found)) if _is_alias(found) else repr(found))
    return f"a {type(found).__name__}" if " at 0x" in said or len(said) > 100 else said


def _without_modules(said: str) -> str:
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", said)


def _section(name: str, found: object, exported: Mapping[str, object]) -> str:
    parts = [f"## {name}\n"]
    if isinstance(found, type) and not _is_alias(found):
        parts += _class_parts(found, exported)
    elif inspect.isfunction(found):
        parts += [_python([str(_function(found))]), f"{inspect.cleandoc(found.__doc__ or '')}\n"]
    else:
        parts.append(f"A {kind_of(found)}: {_about(found)}\n")
    return "\n".join(parts)


def _class_parts(found: type, exported: Mapping[str, object]) -> Iterator[str]:
    declaring = list(_declaring(found, exported))
    bases = ", ".join(base.__name__ for base in found.__bases__ if base is not object)
    yield _python([f"class {found.__name__}({bases})" if bases else f"class {found.__name__}"])
    if found.__doc__:
        yield f"{inspect.cleandoc(found.__doc__)}\n"
    if issubclass(found, Enum):
        yield "".join(f"- `{member.name}`: {member.value}\n" for member in found)
    if fields := [field for each in declaring for field in fields_of(each)]:
        yield _fields(fields)
    if methods := [method for each in declaring for method in methods_of(each)]:
        yield "\n".join(_method(method) for method in methods)


def _declaring(found: type, exported: Mapping[str, object]) -> Iterator[type]:
    """The class, and those bases of its own package that no section of their own describes."""
    yield found
    for base in found.__mro__[1:]:
        if _package(base) == _package(found) and base not in exported.values():
            yield base


def _package(found: type) -> str:
    return found.__module__.partition(".")[0]


def _function(found: object) -> Method:
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(found))).body  # type: ignore[arg-type] # a function
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
    return method_of(definition)


def _fields(fields: list[Field]) -> str:
    rows = (
        f"| `{each.name}` | {_code(each.type)} | {_code(each.default)} | {_cell(each.comment)} |\n" for each in fields
    )
    return "".join(["| field | type | default | what it is |\n", "| --- | --- | --- | --- |\n", *rows])


def _method(method: Method) -> str:
    return f"{_python([str(method)])}\n{method.docstring}\n"


def _python(lines: list[str]) -> str:
    return "\n".join(["```python", *lines, "```", ""])


def _link(name: str) -> str:
    return f"[`{name}`](#{name.lower()})"


def _code(said: str) -> str:
    return f"`{_cell(said)}`" if said else ""


def _cell(said: str) -> str:
    return said.replace("|", "\\|")
