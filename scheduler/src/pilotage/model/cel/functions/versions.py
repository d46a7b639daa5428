"""Versions: semver(text), comparison and parts."""

from pilotage.model.cel.calls import declare
from pilotage.model.cel.errors import EvaluationError
from pilotage.model.semver import InvalidSemver, Semver, normalized, parse


def _semver(text: str, is_lenient: bool = False) -> Semver:
    try:
        return normalized(text) if is_lenient else parse(text)
    except InvalidSemver as error:
        raise EvaluationError(str(error)) from error


def _is_semver(text: str, is_lenient: bool = False) -> bool:
    try:
        _semver(text, is_lenient)
    except EvaluationError:
        return False
    return True


def _signed(number: int) -> int:
    # kube-scheduler shows 64 unsigned bits as signed ones.
    return number - 2**64 if number >= 2**63 else number


def _greater(version: Semver, other: Semver) -> bool:
    return version > other


def _less(version: Semver, other: Semver) -> bool:
    return version < other


def _compare(version: Semver, other: Semver) -> int:
    return (version > other) - (version < other)


declare("semver", ("(string) -> semver", _semver), ("(string, bool) -> semver", _semver))
declare("isSemver", ("(string) -> bool", _is_semver), ("(string, bool) -> bool", _is_semver))
declare("isGreaterThan", ("semver.(semver) -> bool", _greater), sized=False)
declare("isLessThan", ("semver.(semver) -> bool", _less), sized=False)
declare("compareTo", ("semver.(semver) -> int", _compare), sized=False)
declare("major", ("semver.() -> int", lambda version: _signed(version.major)), sized=False)
declare("minor", ("semver.() -> int", lambda version: _signed(version.minor)), sized=False)
declare("patch", ("semver.() -> int", lambda version: _signed(version.patch)), sized=False)
