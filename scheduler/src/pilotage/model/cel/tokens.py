"""Cuts an expression into tokens."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pilotage.model.cel.places import Problem, refused

ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
STRING = "|".join(
    [
        rf'[bB]?"""(?:{ESCAPE}|[^\\])*?"""',
        rf"[bB]?'''(?:{ESCAPE}|[^\\])*?'''",
        r'[bB]?[rR]"""(?:.|\n|\r)*?"""',
        r"[bB]?[rR]'''(?:.|\n|\r)*?'''",
        rf'[bB]?"(?:{ESCAPE}|[^\\"\n\r])*"',
        rf"[bB]?'(?:{ESCAPE}|[^\\'\n\r])*'",
        r'[bB]?[rR]"[^"\n\r]*"',
        r"[bB]?[rR]'[^'\n\r]*'",
    ]
)
TOKEN = re.compile(
    rf"(?P<space>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<string>{STRING})"
    r"|(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<word>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<quoted>`[A-Za-z0-9_./ -]+`)"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,!?:+\-*/%])"
)
KEYWORDS = frozenset({"in", "true", "false", "null"})
END = "end"


class Token(NamedTuple):
    """A piece of the source: what it is, its text, and where it starts."""

    kind: str  # string, float, uint, int, word, quoted, sign (also for keywords), end
    text: str
    at: int


def tokens(source: str) -> list[Token]:
    """Return the tokens of an expression, the last one marks its end; raise CompileError."""
    return list(_tokens(source))


def _tokens(source: str) -> Iterator[Token]:
    at = 0
    while at < len(source):
        match = TOKEN.match(source, at)
        if match is None:
            raise refused(source, Problem(at, f"Syntax error: token recognition error at: '{_unknown(source, at)}'"))
        kind = match.lastgroup or ""
        text = match.group()
        if kind == "word" and text in KEYWORDS:
            kind = "sign"
        if kind != "space":
            yield Token(kind, text, at)
        at = match.end()
    yield Token(END, "<EOF>", len(source))


def _unknown(source: str, at: int) -> str:
    """Return what cannot be read: one sign, or a text that does not end."""
    if source[at] not in "\"'":
        return source[at]
    rest = re.compile(r"[\"'](?:[^\\\"'\n\r]|" + ESCAPE + r")*(?:\\.?|[\n\r])?").match(source, at)
    return rest.group() if rest else source[at]
