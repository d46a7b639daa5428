"""What goes wrong in an expression, in the words of kube-scheduler."""

COST_LIMIT = 1_000_000  # of one evaluation on one device, as the API has it
MISSING_KEY = "no such key:"
HINT = (
    ". consider using CEL optional chaining (.? followed by orValue())"
    " or guarding the check with has() for optional fields"
)


class CompileError(ValueError):
    """The expression cannot be used; the text follows "CEL compile error: "."""


class EvaluationError(Exception):
    """The expression has no answer for this device; the text follows "CEL runtime error: "."""


def hinted(text: str) -> str:
    """Return the text of a run-time error with the advice that kube-scheduler adds for missing keys."""
    return text + HINT if MISSING_KEY in text else text


def no_overload(what: str = "") -> EvaluationError:
    """Return the error of an operation that does not exist for these values."""
    return EvaluationError(f"no such overload: {what}" if what else "no such overload")


def too_costly() -> EvaluationError:
    """Return the error of an evaluation that has used up its cost limit."""
    return EvaluationError("operation cancelled: actual cost limit exceeded")
