"""Runs regular expressions in time linear in the text, whatever the pattern: all threads of a pattern step together.

Python's own `re` goes back and tries again: a pattern of a dozen characters can keep it busy for hours. This machine
takes the threads in order of preference, as RE2 does, and remembers each step that it has taken.
"""

from functools import lru_cache
from typing import NamedTuple

from pilotage.model.cel.environment import Slots, spend
from pilotage.model.cel.pattern_classes import CharacterSet
from pilotage.model.cel.pattern_syntax import (
    Assertion,
    Choice,
    One,
    Piece,
    Repeat,
    Sequence,
    UnsupportedPattern,
    parse_pattern,
)

MOST_STEPS = 2000  # in a program
REMEMBERED_MOVES = 4096  # of one pattern, from one text to the next
REMEMBERED = 256  # patterns
STEP_COST = 4  # units of cost for a thread that moves for the first time
SIGN_COST = 4  # units for a character
START, END, LINE_START, LINE_END, WORD_BEFORE, WORD_AFTER = 1, 2, 4, 8, 16, 32

Threads = tuple[int, ...]  # steps of the program, the preferred first


class Step(NamedTuple):
    """A step of a program: a character of a set, a condition, a fork, or the end."""

    signs: CharacterSet | None = None
    condition: str = ""
    forks: tuple[int, ...] = ()  # the preferred first


MATCH = Step()


class _Builder:
    def __init__(self) -> None:
        self.steps: list[Step] = []

    def add(self, step: Step) -> int:
        if len(self.steps) >= MOST_STEPS:
            raise UnsupportedPattern(f"a regular expression of more than {MOST_STEPS} steps")
        self.steps.append(step)
        return len(self.steps) - 1

    def build(self, piece: Piece) -> None:
        """Append the steps of a piece; they end where the next ones start."""
        match piece:
            case One():
                self.add(Step(signs=piece.signs))
            case Assertion():
                self.add(Step(condition=piece.kind))
            case Sequence():
                for part in piece.parts:
                    self.build(part)
            case Choice():
                self._choice(piece.parts)
            case Repeat():
                for _ in range(piece.least):
                    self.build(piece.part)
                if piece.most is None:
                    self._star(piece)
                else:
                    self._options(piece, piece.most - piece.least)

    def _choice(self, parts: tuple[Piece, ...]) -> None:
        fork = self.add(MATCH)
        starts, ends = [], []
        for part in parts:
            starts.append(len(self.steps))
            self.build(part)
            ends.append(self.add(MATCH))
        self.steps[fork] = Step(forks=tuple(starts))
        for end in ends:
            self.steps[end] = Step(forks=(len(self.steps),))

    def _star(self, piece: Repeat) -> None:
        fork = self.add(MATCH)
        self.build(piece.part)
        self.add(Step(forks=(fork,)))
        self.steps[fork] = Step(forks=_preferred(piece, fork + 1, len(self.steps)))

    def _options(self, piece: Repeat, count: int) -> None:
        forks = []
        for _ in range(count):
            forks.append(self.add(MATCH))
            self.build(piece.part)
        for fork in forks:
            self.steps[fork] = Step(forks=_preferred(piece, fork + 1, len(self.steps)))


def _preferred(piece: Repeat, again: int, on: int) -> tuple[int, int]:
    return (on, again) if piece.is_lazy else (again, on)


class Pattern:
    """A compiled regular expression; it remembers which state follows which."""

    def __init__(self, text: str) -> None:
        builder = _Builder()
        builder.build(parse_pattern(text))
        builder.add(MATCH)
        self._steps = builder.steps
        self.length = len(self._steps)
        self._has_conditions = any(step.condition for step in self._steps)
        self._forget()

    def _forget(self) -> None:
        self._states: list[Threads] = []
        self._numbers: dict[Threads, int] = {}
        self._closures: dict[tuple[int, int], tuple[int, bool]] = {}
        self._moves: dict[tuple[int, str, bool], int] = {}

    def matches(self, slots: Slots, text: str, start: int = 0) -> bool:
        """Return whether any part of a text matches from a place on."""
        if len(self._moves) > REMEMBERED_MOVES or len(self._closures) > REMEMBERED_MOVES:
            self._forget()
        spend(slots, SIGN_COST * (len(text) - start))
        state = self._number((0,))
        for at in range(start, len(text) + 1):
            state, is_match = self._closure(slots, state, self._conditions(text, at))
            if is_match:
                return True
            if at < len(text):
                state = self._move(slots, state, text[at], True)
        return False

    def find(self, slots: Slots, text: str, start: int = 0) -> tuple[int, int] | None:
        """Return where the first match from a place on starts and ends."""
        if not self.matches(slots, text, start):
            return None
        for begin in range(start, len(text) + 1):
            end = self._end(slots, text, begin)
            if end is not None:
                return begin, end
        return None

    def _end(self, slots: Slots, text: str, begin: int) -> int | None:
        state, found = self._number((0,)), None
        nothing = self._number(())
        for at in range(begin, len(text) + 1):
            spend(slots, SIGN_COST)
            state, is_match = self._closure(slots, state, self._conditions(text, at))
            if is_match:
                found = at
            if at < len(text):
                state = self._move(slots, state, text[at], False)
            if state == nothing:
                break
        return found

    def _number(self, threads: Threads) -> int:
        """Return the number of a state, which is quicker to look up than its threads."""
        found = self._numbers.get(threads)
        if found is None:
            found = self._numbers[threads] = len(self._states)
            self._states.append(threads)
        return found

    def _conditions(self, text: str, at: int) -> int:
        if not self._has_conditions:
            return 0
        before, after = text[at - 1 : at] if at else "", text[at : at + 1]
        return (
            (START if at == 0 else 0)
            | (END if not after else 0)
            | (LINE_START if before in ("", "\n") else 0)
            | (LINE_END if after in ("", "\n") else 0)
            | (WORD_BEFORE if _is_word(before) else 0)
            | (WORD_AFTER if _is_word(after) else 0)
        )

    def _closure(self, slots: Slots, state: int, conditions: int) -> tuple[int, bool]:
        """Return the threads that wait for a character, and whether one has come to the end before the rest."""
        key = state, conditions
        found = self._closures.get(key)
        if found is None:
            waiting, is_match = self._computed_closure(slots, self._states[state], conditions)
            found = self._closures[key] = self._number(waiting), is_match
        return found

    def _computed_closure(self, slots: Slots, threads: Threads, conditions: int) -> tuple[Threads, bool]:
        waiting: list[int] = []
        seen: set[int] = set()
        stack = list(reversed(threads))
        is_match = False
        while stack and not is_match:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            step = self._steps[place]
            if step.signs is not None:
                waiting.append(place)
            elif step.condition:
                if _holds(step.condition, conditions):
                    stack.append(place + 1)
            elif step.forks:
                stack.extend(reversed(step.forks))
            else:
                is_match = True
        spend(slots, STEP_COST * len(seen))
        return tuple(waiting), is_match

    def _move(self, slots: Slots, state: int, sign: str, restarts: bool) -> int:
        """Return the threads that a character lets through; a search also starts again after it."""
        key = state, sign, restarts
        found = self._moves.get(key)
        if found is None:
            threads = self._states[state]
            spend(slots, STEP_COST * len(threads))
            moved = tuple([place + 1 for place in threads if self._takes(place, sign)])
            found = self._moves[key] = self._number((*moved, 0) if restarts else moved)
        return found

    def _takes(self, place: int, sign: str) -> bool:
        signs = self._steps[place].signs
        return signs is not None and signs.has(sign)


def _is_word(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or sign == "_")


def _holds(condition: str, conditions: int) -> bool:
    if condition == "text_start":
        return bool(conditions & START)
    if condition == "text_end":
        return bool(conditions & END)
    if condition == "line_start":
        return bool(conditions & LINE_START)
    if condition == "line_end":
        return bool(conditions & LINE_END)
    is_boundary = bool(conditions & WORD_BEFORE) is not bool(conditions & WORD_AFTER)
    return is_boundary is (condition == "boundary")


@lru_cache(maxsize=REMEMBERED)
def pattern(text: str) -> Pattern:
    """Return the machine of a regular expression, or raise InvalidPattern or UnsupportedPattern."""
    return Pattern(text)
