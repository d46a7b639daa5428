"""Suggestions for typos: separate from messages whose text is fixed."""

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import get_args

from pilotage.config.documents import At
from pilotage.config.types import Section

_ASKING = "did you mean "
_MOST_COMPARED = 64  # names: to compare two of them takes up to 30 microseconds
_LONGEST = 64  # characters of a word whose typos are listed
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-."


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "did you mean X?" with the most similar known word; empty if none is similar."""
    by_small = {name.lower(): name for name in known if name != word}
    near = get_close_matches(word.lower(), by_small, n=1)
    return f'{_ASKING}"{by_small[near[0]]}"?' if near else ""


def near(word: str, known: Iterable[str]) -> str:
    """Return the most similar known word; empty if none is similar."""
    return did_you_mean(word, known).removeprefix(f'{_ASKING}"').removesuffix('"?')


def near_of_many(word: str, known: Collection[str]) -> str:
    """The same among any number of names: of many, only one that is a single typo away."""
    if len(known) <= _MOST_COMPARED:
        return near(word, known)
    names = known if isinstance(known, set | frozenset | dict) else frozenset(known)
    typos = _typos(word) if len(word) <= _LONGEST else ()
    return min((typo for typo in typos if typo in names and typo != word), default="")


def _typos(word: str) -> Iterator[str]:
    """All words that a missing, additional, wrong or swapped letter makes of a word."""
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        yield from (before + letter + after for letter in _LETTERS)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in _LETTERS)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


def asked_once(questions: Iterable[str]) -> str:
    """Combine several such questions: did you mean "size" and "count"?"""
    words = [question.removeprefix(_ASKING).removesuffix("?") for question in dict.fromkeys(questions) if question]
    return f"{_ASKING}{' and '.join(words)}?" if words else ""


def fields_at(section: type[Section], at: At) -> list[str]:
    """Return the possible fields at a path in a section."""
    inside: type[Section] | None = section
    for part in at:
        if inside is not None and isinstance(part, str):
            inside = _section_of(inside, part)
    return _fields(inside) if inside else []


def _section_of(section: type[Section], alias: str) -> type[Section] | None:
    found = next((field for field in section.model_fields.values() if field.alias == alias), None)
    return next(iter(_sections(found.annotation)), None) if found else None


def _sections(annotation: object) -> list[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for part in get_args(annotation) for section in _sections(part)]


def _fields(section: type[Section]) -> list[str]:
    return [field.alias for field in section.model_fields.values() if field.alias]
