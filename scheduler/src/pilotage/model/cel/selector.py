"""Compiled selectors: what asks of a device whether it matches."""

from collections.abc import Hashable
from functools import lru_cache

from pilotage.model.cel import functions
from pilotage.model.cel.checker import check
from pilotage.model.cel.devices import CelDevice
from pilotage.model.cel.environment import FIRST_VARIABLE, CostExceeded
from pilotage.model.cel.errors import COST_LIMIT, CompileError, EvaluationError, too_costly
from pilotage.model.cel.parser import parse
from pilotage.model.cel.program import Program, program
from pilotage.model.cel.reading import Reading, reading
from pilotage.model.cel.values import as_bool, type_name

assert functions.DECLARED
REMEMBERED = 1 << 10  # distinct expressions


class Selector:
    """An expression ready to be asked."""

    __slots__ = ("_reading", "_run", "_variables", "mentions", "source")

    def __init__(self, source: str, compiled: Program, read: Reading) -> None:
        self.source = source
        self._run = compiled.run
        self._variables = [None] * (compiled.slots - FIRST_VARIABLE)
        self._reading = read
        # ("attributes" | "capacity", domain, id) of all that the expression can read; "" is the driver's own domain.
        # None: it looks at whole maps, or at keys that it computes, so that everything matters.
        self.mentions: frozenset[tuple[str, str, str]] | None = read.mentions

    def matches(self, device: CelDevice) -> bool:
        """Return whether a device matches; raise EvaluationError if the expression has no answer for it."""
        view = device.view
        if view.failure is not None:
            raise EvaluationError(view.failure)
        try:
            answer = self._run([view, COST_LIMIT, *self._variables])
        except CostExceeded:
            raise too_costly() from None
        except RecursionError:
            raise EvaluationError("the expression nests too deep for this scheduler") from None
        if answer is True or answer is False:
            return answer
        return _as_bool(answer)

    def projection(self, device: CelDevice) -> Hashable:
        """Return a key: devices with equal keys get the same answer."""
        return self._reading.projection(device.view)


@lru_cache(maxsize=REMEMBERED)
def compile_selector(source: str) -> Selector:
    """Return the selector of an expression, or raise CompileError with the text after "CEL compile error: "."""
    try:
        tree = parse(source)
        return Selector(source, program(source, tree, check(source, tree)), reading(tree))
    except RecursionError:
        raise CompileError("compilation failed: the expression nests too deep for this scheduler") from None


def _as_bool(answer: object) -> bool:
    """Return what kube-scheduler takes an answer for that is no bool; mostly it refuses."""
    try:
        return as_bool(answer)
    except EvaluationError as error:
        text = f"CEL result of type {type_name(answer)} could not be converted to bool: {error}"
        raise EvaluationError(text) from None
