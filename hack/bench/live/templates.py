"""Objects from upstream's templates: YAML with actions of Go's template language."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bench.live.go_templates import NotUnderstood, Part, parse, render
from bench.live.kinds import KINDS
from bench.live.operations import Template
from bench.live.workload_files import Unsupported
from localcluster.errors import Problem

Manifest = dict[str, Any]


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
    return "{{" not in _text(template.path)


def _fill(template: Template, words: dict[str, Any]) -> str:
    try:
        return render(_parts(template.path), words)
    except NotUnderstood as problem:
        raise Unsupported(f"{template.path.name} {problem}") from problem


@cache
def _parts(path: Path) -> tuple[Part, ...]:
    return parse(_text(path))


@cache
def _text(path: Path) -> str:
    lines = path.read_text().splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
