"""One audit from start to verdict."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from auditor.audit_log import AuditLog
from auditor.intake import ClaimIntake, NodeIntake, PodIntake, SliceIntake
from auditor.kubeconfig import Access
from auditor.ledger import Ledger
from auditor.observer import CannotWatch, Sink
from auditor.report import Report
from auditor.serves import Serves
from auditor.sight import Sight, sight_of

LOG_STEP = 0.2  # seconds between two looks at the audit log
CHECK_STEP = 1.0  # seconds between two looks at the waiting pods, at least
CHECK_BUDGET = 0.25  # seconds of looking before the streams get their turn
FRESH_STEP = 5.0  # seconds between two fresh lists for the sake of a suspicion
LAST_LINES = 0.5  # seconds; an API server answers a request a moment before it logs it


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked on the command line."""

    access: Access
    audit_log: Path
    report: Path
    ready_file: Path | None
    serves: Serves
    wait_limit: float
    grace: float
    namespaces: frozenset[str]


class Vigil:
    """Watches until it is stopped, then reports what it saw."""

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self._options = options
        self._report = Report(options.report, rules_off(options), options.namespaces, say)
        limit = options.wait_limit or float("inf")
        self._ledger = Ledger(options.serves, limit, options.grace, self._report.add, self._report.note)
        self._log = AuditLog(options.audit_log)
        self._stopped = asyncio.Event()
        self._lists = 0
        self._next_check = self._next_fresh = 0.0

    async def keep(self) -> None:
        """Audit until a signal comes."""
        self._stop_on_signals()
        await self._save()  # 1. from here on there is a report, and it says: not finished
        await self._log.start()  # 2. before the lists, so that no binding is missed in between
        try:
            await self._watch()
        finally:
            await self._save()
            self._log.close()
        await self._report.finish(time.time(), self.seen)

    async def _watch(self) -> None:
        note = self._report.note
        sinks: dict[str, Sink] = {
            "nodes": NodeIntake(self._ledger, note),
            "pods": PodIntake(self._ledger, note),
            "resourceclaims": ClaimIntake(self._ledger, note),
            "resourceslices": SliceIntake(self._ledger, note),
        }
        async with sight_of(self._options.access, sinks) as sight:
            await sight.opens(self._stopped)  # 3. what is there already
            await self._mark_ready()  # 4. from here on nothing is missed
            while not self._stopped.is_set():  # 5. what happens
                await self._step(sight)
            await self._drain(sight)  # 6. what comes late

    @property
    def found(self) -> int:
        """How many violations were found."""
        return self._report.violations

    @property
    def seen(self) -> dict[str, float]:
        """What was looked at, in numbers."""
        return {**self._ledger.seen, "lists": self._lists, "auditLinesUnreadable": self._log.unreadable}

    @property
    def verdict(self) -> str:
        """The outcome in one line."""
        outcome = "clean" if not self.found else f"{self.found} violation{'s' * (self.found > 1)}"
        pods, bindings, wait = (self.seen[key] for key in ("pods", "bindings", "longestWaitSeconds"))
        return f"auditor: {outcome} ({pods} pods, {bindings} bindings, longest wait {wait} s)"

    async def _step(self, sight: Sight) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), LOG_STEP)
        sight.check()
        await self._read_log()
        self._judge(sight, time.time())
        await self._save()

    def _judge(self, sight: Sight, now: float) -> None:
        self._lists = sight.lists
        self._ledger.tick(now, sight.is_whole)
        if now >= self._next_check:
            began = time.monotonic()
            self._ledger.check_waiting(now, lambda: time.monotonic() > began + CHECK_BUDGET)
            # If checks take long they are done less often.
            self._next_check = now + max(CHECK_STEP, 4 * (time.monotonic() - began))
        doubts = self._ledger.doubts(now)
        if doubts and now >= self._next_fresh:
            self._next_fresh = now + FRESH_STEP
            sight.ask(doubts)

    async def _drain(self, sight: Sight) -> None:
        await asyncio.sleep(LAST_LINES)
        await self._read_log()
        await sight.last_look()
        self._lists = sight.lists
        self._ledger.close(time.time())
        if self._ledger.log_is_silent:
            hint = (
                "make it the API server's --audit-log-path, with a policy that logs create of pods/binding at Request"
            )
            raise CannotWatch(f"pods were bound, but {self._options.audit_log} tells of none of it; {hint}")

    async def _read_log(self) -> None:
        for attempt in await self._log.read():
            self._ledger.attempted(attempt)
        if self._log.unreadable:
            self._report.note("the audit log has lines that cannot be read; auditLinesUnreadable counts them")

    async def _save(self) -> None:
        await self._report.save_news(time.time(), self.seen)

    async def _mark_ready(self) -> None:
        if self._options.ready_file:
            await asyncio.to_thread(self._options.ready_file.write_text, "ready\n")

    def _stop_on_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stopped.set)


def rules_off(options: Options) -> dict[str, str]:
    """Return the rules that are not judged, with the reason."""
    off = {}
    if not options.serves:
        off["foreign-binder"] = "no scheduler was declared with --serves"
    if not options.wait_limit:
        off["waits-though-fits"] = "--wait-limit is 0"
    return off
