"""As much of Go's template language as upstream's workloads use: words, calls, pipelines, variables, if and range."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ACTION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|`[^`]*`|:=|[()|]|[^\s()|]+)')
NUMBER = re.compile(r"-?\d+$")
Words = Mapping[str, Any]


class NotUnderstood(Exception):
    """A template asks for more than we know; the message says what."""


@dataclass(frozen=True)
class Part:
    """A piece of text, or an action with what is inside it."""

    text: str = ""
    action: str = ""
    inner: tuple["Part", ...] = ()
    otherwise: tuple["Part", ...] = ()


def parse(text: str) -> tuple[Part, ...]:
    """Take a template apart."""
    parts = _flat(text)
    found, rest = _block(parts, ends=())
    if rest:
        raise NotUnderstood(f"{{{{{rest[0].action}}}}} without a beginning")
    return found


def render(parts: Sequence[Part], words: Words) -> str:
    """Fill in a template."""
    return _rendered(parts, words, words, {})


def _flat(text: str) -> list[Part]:
    found, position = [], 0
    for action in ACTION.finditer(text):
        found.append(Part(text=text[position : action.start()]))
        found.append(Part(action=action[1].strip()))
        position = action.end()
    return [part for part in [*found, Part(text=text[position:])] if part.text or part.action]


def _block(parts: list[Part], ends: tuple[str, ...]) -> tuple[tuple[Part, ...], list[Part]]:
    """Gather everything up to one of these ends, which is the first of the rest."""
    found: list[Part] = []
    while parts:
        part, *rest = parts
        word = part.action.split(maxsplit=1)[0] if part.action else ""
        if word in ("end", "else"):
            if word not in ends:
                raise NotUnderstood(f"{{{{{part.action}}}}} without a beginning")
            return tuple(found), parts
        if word in ("if", "range"):
            inner, rest = _block(rest, ends=("else", "end"))
            otherwise: tuple[Part, ...] = ()
            if rest and rest[0].action == "else":
                otherwise, rest = _block(rest[1:], ends=("end",))
            if not rest or rest[0].action != "end":
                raise NotUnderstood(f"{{{{{part.action}}}}} without an end")
            part, rest = Part(action=part.action, inner=inner, otherwise=otherwise), rest[1:]
        found.append(part)
        parts = rest
    if ends:
        raise NotUnderstood("an action without an end")
    return tuple(found), []


def _rendered(parts: Sequence[Part], dot: Any, words: Words, variables: dict[str, Any]) -> str:
    return "".join(_piece(part, dot, words, variables) for part in parts)


def _piece(part: Part, dot: Any, words: Words, variables: dict[str, Any]) -> str:
    if not part.action:
        return part.text
    word, _, rest = part.action.partition(" ")
    if word == "if":
        chosen = part.inner if _value(rest, dot, variables) else part.otherwise
        return _rendered(chosen, dot, words, variables)
    if word == "range":
        items = list(_items(_value(rest, dot, variables)))
        made = (_rendered(part.inner, item, words, dict(variables)) for item in items)
        return "".join(made) if items else _rendered(part.otherwise, dot, words, variables)
    if word.startswith("$") and rest.startswith(":="):
        variables[word] = _value(rest.removeprefix(":="), dot, variables)
        return ""
    value = _value(part.action, dot, variables)
    if value is None:
        raise NotUnderstood(f"uses {part.action}, which is not provided")
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, int):
        yield from range(value)
    elif isinstance(value, list):
        yield from value
    else:
        raise NotUnderstood(f"a range over {value!r}")


def _value(expression: str, dot: Any, variables: Mapping[str, Any]) -> Any:
    """The value of a pipeline: what one command gives is the last argument of the next."""
    tokens = TOKEN.findall(expression)
    value, rest = _pipeline(tokens, dot, variables)
    if rest:
        raise NotUnderstood(f"holds {{{{{expression}}}}}")
    return value


def _pipeline(tokens: list[str], dot: Any, variables: Mapping[str, Any]) -> tuple[Any, list[str]]:
    value: Any = None
    is_first = True
    while True:
        values: list[Any] = []
        function: Callable[..., Any] | None = None
        while tokens and tokens[0] not in ("|", ")"):
            head, *tokens = tokens
            if head == "(":
                inner, tokens = _pipeline(tokens, dot, variables)
                if not tokens:
                    raise NotUnderstood("a ( without a )")
                values, tokens = [*values, inner], tokens[1:]
            elif head in FUNCTIONS and function is None and not values:
                function = FUNCTIONS[head]
            else:
                values.append(_operand(head, dot, variables))
        values += [] if is_first else [value]
        value = _called(function, values)
        is_first = False
        if not tokens or tokens[0] == ")":
            return value, tokens
        tokens = tokens[1:]


def _called(function: Callable[..., Any] | None, values: list[Any]) -> Any:
    if function is None:
        if len(values) != 1:
            raise NotUnderstood(f"holds a command of {len(values)} words")
        return values[0]
    try:
        return function(*values)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise NotUnderstood(f"{', '.join(map(repr, values))}: {error}") from error


def _operand(word: str, dot: Any, variables: Mapping[str, Any]) -> Any:
    if word == ".":
        return dot
    if word.startswith("."):
        return dot.get(word[1:]) if isinstance(dot, Mapping) else None
    if word.startswith("$"):
        if word not in variables:
            raise NotUnderstood(f"uses {word}, which is not set")
        return variables[word]
    if word[0] in '"`':
        return json.loads(word) if word[0] == '"' else word[1:-1]
    if NUMBER.match(word):
        return int(word)
    constants = {"nil": None, "true": True, "false": False}
    if word not in constants:
        raise NotUnderstood(f"holds {word}")
    return constants[word]


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str | float):
        raise TypeError(f"{value!r} is not a number")
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{value} is not a number") from None


def _or(*values: Any) -> Any:
    return next((value for value in values if value), values[-1])


def _sum(*values: Any) -> int:
    return sum(map(_number, values))


def _product(*values: Any) -> int:
    product = 1
    for value in values:
        product *= _number(value)
    return product


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "or": _or,
    "eq": lambda first, *others: first in others,
    "not": lambda value: not value,
    "Int": _number,
    "JSON": lambda value: json.dumps(value, separators=(",", ":")),
    "AddInt": _sum,
    "MultiplyInt": _product,
    "SubtractInt": lambda first, second: _number(first) - _number(second),
    "DivideInt": lambda first, second: _number(first) // _number(second),
    "Mod": lambda first, second: _number(first) % _number(second),
}
