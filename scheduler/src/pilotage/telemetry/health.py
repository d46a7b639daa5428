"""Health checks: named checks in groups for the probes."""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from pilotage.model.go_text import quoted

log = logging.getLogger(__name__)

# The problem, or None.
Check = Callable[[], str | None]


def ping() -> str | None:
    """Return None: a response is all that this check requires."""
    return None


class Heartbeat:
    """A check that a loop is running: it fails if the last beat is too old."""

    def __init__(self, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest = longest
        self._clock = clock
        self._last: float | None = None

    def beat(self) -> None:
        """Record a beat; the next one is expected in time."""
        self._last = self._clock()

    def rest(self) -> None:
        """Suspend the check until the next beat."""
        self._last = None

    def __call__(self) -> str | None:
        if self._last is None:
            return None
        age = self._clock() - self._last
        return f"the event loop last ran {age:.0f}s ago" if age > self._longest else None


@dataclass(frozen=True, slots=True)
class Probe:
    """The answer to one probe."""

    passed: bool
    text: str


class Health:
    """The checks of each group in the order of display, and their results so far."""

    def __init__(self, groups: Mapping[str, Mapping[str, Check]]) -> None:
        self.groups = groups
        self._last: dict[tuple[str, str], bool] = {}  # by check and group
        self._counts: dict[tuple[str, str, str], int] = {}  # by check, result and group

    def probe(self, group: str, *, verbose: bool = False, excluded: Collection[str] = ()) -> Probe:
        """Run the checks of a group; problems are logged but not returned, since probes need no authorization."""
        lines, failed = [], []
        for name, check in self.groups[group].items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif (problem := self._run(group, name, check)) is None:
                lines.append(f"[+]{name} ok")
            else:
                lines.append(f"[-]{name} failed: reason withheld")
                failed.append(f"{name}: {problem}")
        if unknown := [quoted(name) for name in dict.fromkeys(excluded) if name not in self.groups[group]]:
            lines.append(f"warn: some health checks cannot be excluded: no matches for {','.join(unknown)}")
        if failed:
            log.warning("%s check failed: %s", group, "; ".join(failed))
        elif not verbose:
            return Probe(True, "ok")
        return Probe(not failed, "\n".join([*lines, f"{group} check {'failed' if failed else 'passed'}\n"]))

    def probe_one(self, group: str, name: str) -> Probe:
        """Run one check, and return its problem: this path requires authorization."""
        problem = _outcome(self.groups[group][name])
        return Probe(True, "ok") if problem is None else Probe(False, f"internal server error: {problem}\n")

    def metrics(self) -> bytes:
        """Return the results of checks for /metrics/slis."""
        last = [
            f'kubernetes_healthcheck{{name="{name}",type="{group}"}} {int(passed)}'
            for (name, group), passed in sorted(self._last.items())
        ]
        counts = [
            f'kubernetes_healthchecks_total{{name="{name}",status="{status}",type="{group}"}} {count}'
            for (name, status, group), count in sorted(self._counts.items())
        ]
        lines = [
            "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.",
            "# TYPE kubernetes_healthcheck gauge",
            *last,
            "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.",
            "# TYPE kubernetes_healthchecks_total counter",
            *counts,
        ]
        return "".join(f"{line}\n" for line in lines).encode() if last else b""

    def reset_metrics(self) -> None:
        """Forget all results so far."""
        self._last.clear()
        self._counts.clear()

    def _run(self, group: str, name: str, check: Check) -> str | None:
        problem = _outcome(check)
        self._last[name, group] = problem is None
        key = name, "success" if problem is None else "error", group
        self._counts[key] = self._counts.get(key, 0) + 1
        return problem


def _outcome(check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # a check that raises has failed, without affecting others
        log.exception("a health check raised an error")
        return f"the check itself failed: {type(error).__name__}"
