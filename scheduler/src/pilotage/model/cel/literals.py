"""Reads literals: numbers, strings and bytes."""

import re
from typing import Any

from pilotage.model.cel.places import Problem, refused
from pilotage.model.cel.tokens import Token
from pilotage.model.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
ESCAPED = re.compile(
    r"\\(?:([abfnrtv\"'\\?`])|([0-3][0-7][0-7])|[xX]([0-9a-fA-F]{2})|(?:u(?=[0-9a-fA-F]{4})|U(?=[0-9a-fA-F]{8}))((?<=u)[0-9a-fA-F]{4}|(?<=U)[0-9a-fA-F]{8}))|\r\n?",
    re.DOTALL,
)


def literal(source: str, token: Token, is_negative: bool = False) -> Any:
    """Return the value of a token, or raise CompileError."""
    if token.kind == "string":
        return _text(source, token)
    if token.kind == "float":
        return -float(token.text) if is_negative else float(token.text)
    digits = token.text.rstrip("uU")
    number = int(digits, 16) if digits.startswith("0x") else _decimal(digits)
    if token.kind == "uint":
        if number > UINT_MAX:
            raise refused(source, Problem(token.at, "invalid uint literal"))
        return UInt(number)
    number = -number if is_negative else number
    if not INT_MIN <= number <= INT_MAX:
        raise refused(source, Problem(token.at, "invalid int literal"))
    return number


def _decimal(digits: str) -> int:
    return int(digits) if len(digits) <= 40 else UINT_MAX + 1


def _text(source: str, token: Token) -> str | bytes:
    text, is_raw, is_bytes = token.text, False, False
    while text[0] not in "\"'":
        is_raw, is_bytes = is_raw or text[0] in "rR", is_bytes or text[0] in "bB"
        text = text[1:]
    ends = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    text = text[ends:-ends]
    try:
        if is_bytes:
            return text.encode() if is_raw else _bytes(text)
        return text if is_raw else ESCAPED.sub(_sign, text)
    except ValueError as error:
        raise refused(source, Problem(token.at, str(error))) from error


def _sign(match: re.Match[str]) -> str:
    simple, octal, byte, code = match.groups()
    if simple:
        return SIMPLE.get(simple, simple)
    if match.group()[0] == "\r":
        return "\n"  # as every other end of a line
    number = int(octal, 8) if octal else int(byte or code, 16)
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise ValueError("unable to unescape string")
    return chr(number)


def _bytes(text: str) -> bytes:
    found, end = bytearray(), 0
    for match in ESCAPED.finditer(text):
        found += text[end : match.start()].encode()
        end = match.end()
        _, octal, byte, code = match.groups()
        if code:
            raise ValueError("unable to unescape string")
        if octal or byte:
            found.append(int(octal, 8) if octal else int(byte, 16))
        else:
            found += _sign(match).encode()
    return bytes(found + text[end:].encode())
