"""Objects from upstream's templates: YAML with a few placeholders of Go's template language."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bench.live.kinds import KINDS
from bench.live.operations import Template
from bench.live.workload_files import Unsupported
from localcluster.errors import Problem

Manifest = dict[str, Any]

PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
WORD = re.compile(r"\.(\w+)$")
ARITHMETIC = {
    "AddInt": lambda first, second: first + second,
    "DivideInt": lambda first, second: first // second,
    "Mod": lambda first, second: first % second,
}


def check(template: Template) -> None:
    """Refuse a template that asks for more than we can fill in, or describes what we do not know."""
    kind = manifest(template, 0, 1)["kind"]
    if kind not in KINDS:
        raise Unsupported(f"{template.path.name}: the kind {kind}")


def manifest(template: Template, index: int, count: int) -> Manifest:
    """The object with this index; a fresh manifest that may be modified."""
    text = _fill(template, {"Index": index, "Count": count} | template.words)
    content = yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader, in C where there is one
    if not isinstance(content, dict) or "kind" not in content:
        raise Problem(f"{template.path} does not describe an object")
    return content


def is_constant(template: Template) -> bool:
    """Whether every object of it is the same."""
    return not PLACEHOLDER.search(_text(template.path))


def _fill(template: Template, words: dict[str, Any]) -> str:
    return PLACEHOLDER.sub(lambda found: str(_value(found[1].strip(), words, template.path.name)), _text(template.path))


def _value(expression: str, words: dict[str, Any], name: str) -> Any:
    if word := WORD.match(expression):
        if word[1] in words:
            return words[word[1]]
        raise Unsupported(f"{name} uses .{word[1]}, which is not provided")
    function, *arguments = expression.split()
    if function in ARITHMETIC and len(arguments) == 2:
        first, second = (_number(argument, words, name) for argument in arguments)
        return ARITHMETIC[function](first, second)
    raise Unsupported(f"{name} holds {{{{{expression}}}}}")


def _number(text: str, words: dict[str, Any], name: str) -> int:
    found = _value(text, words, name) if text.startswith(".") else text
    try:
        return int(found)
    except ValueError as error:
        raise Unsupported(f"{name}: {text} is not a number") from error


@cache
def _text(path: Path) -> str:
    lines = path.read_text().splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
