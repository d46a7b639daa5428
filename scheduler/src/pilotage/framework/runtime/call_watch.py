"""The current call of a custom plugin: recorded before and after, and aborted from outside.

main thread      enter ── the plugin's method ── leave                     only writes attributes
watchdog thread  ── every 50 ms: the same call for too long? ── signal to the main thread ── its handler raises
                                                                OverBudget, if the same call is still in progress
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from types import FrameType, TracebackType
from typing import Any, Protocol

from pilotage.framework.api.verdicts import PluginFailed
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

NO_LIMIT = float("inf")
CLEAN_UP = 0.2  # share of the budget, for other methods of a plugin that has used up its budget in this turn
PAUSES = (3.0, 6.0, 30.0, 60.0, 120.0, 300.0)  # seconds for which a method is not called after each abort
REMEMBERED = 600.0  # seconds for which an aborted call counts
ENOUGH = 3  # failures without a success
REST = 30  # times the cost of the call: the pod's minimum wait


# Failures of these methods fail an attempt, which reports them.
OF_ATTEMPTS = frozenset(
    (
        *("pre_filter", "add_pod", "remove_pod", "filter", "filter_nodes", "post_filter"),
        *("pre_score", "score", "score_nodes", "normalize", "epoch", "may_evict", "objection", "enough_leave"),
        *("reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind"),
    )
)


class OverBudget(BaseException):
    """Raised inside of a plugin that takes too long; the plugin's own `except Exception` does not catch it."""


class Named(Protocol):
    """A plugin."""

    @property
    def name(self) -> str:
        """Return the name of the plugin."""


class TookTooLong(PluginFailed):
    """A call that was aborted because it took too long, or not made because earlier ones did."""

    def __init__(self, text: str, *, cost: float = 0.0, rest: float = 0.0) -> None:
        super().__init__(text)
        self.cost, self.rest = cost, max(rest, REST * cost)


@dataclass(eq=False, slots=True)
class Block:
    """A method of one plugin that is not called for a while."""

    plugin: Any
    ended: deque[float] = field(default_factory=lambda: deque(maxlen=len(PAUSES)))  # when its calls were aborted
    until: float = 0.0
    reason: str = ""
    uid: str = ""  # of the pod of the last call
    cost: float = 0.0  # seconds that the call took

    def grow(self, now: float) -> float:
        """Record an aborted call; returns the pause."""
        while self.ended and now - self.ended[0] > REMEMBERED:
            self.ended.popleft()
        self.ended.append(now)
        pause = PAUSES[len(self.ended) - 1]
        self.until = now + pause
        return pause


class CallSite:
    """One method of a plugin class."""

    __slots__ = ("blocks", "failures", "point", "spent", "stops", "turn", "worked")

    def __init__(self, point: str) -> None:
        self.point = point  # as in the plugin's code
        self.worked = False
        self.failures = 0
        self.turn = -1
        self.spent = 0.0  # seconds in this turn
        self.stops = False  # calls may be refused, check the blocks
        self.blocks: dict[int, Block] = {}  # by the id of the plugin, which the block keeps alive


@dataclass(frozen=True, slots=True)
class Overrun:
    """A call that took too long."""

    plugin: Named
    point: str
    pod: Pod | None
    seconds: float
    message: str  # without the plugin's name


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A call during which the previous process exited."""

    plugin: str
    point: str
    scheduler: str
    uid: str  # of the pod; "" if there was none
    pod: str  # as namespace/name
    times: int
    until: float  # of `perf_counter`: until then the plugin is not called for the pod

    @property
    def message(self) -> str:
        """Return the message, without the plugin's name."""
        often = "" if self.times == 1 else f" {self.times} times"
        about = f" for pod {self.pod}" if self.pod else ""
        return f"the scheduler exited{often} while the plugin was called{about} in {self.point}"


class Record(Protocol):
    """A record of the call in progress, for the next process in case this one crashes."""

    def begin(self, plugin: Named, site: CallSite, pod: Pod | None) -> None:
        """Record the call."""

    def end(self) -> None:
        """Record that the call has ended."""


class CallWatch:
    """The current call of a custom plugin in the main thread; there is at most one."""

    __slots__ = (
        "args",
        "budget",
        "call",
        "clock",
        "doomed",
        "floor",
        "has_foreign",
        "limit",
        "on_ended",
        "on_failing",
        "on_foreign",
        "on_overrun",
        "overrun_turn",
        "plugin",
        "record",
        "since",
        "suspicions",
        "turn",
    )

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self.has_foreign = False  # there is a custom plugin to watch
        self.call: CallSite | None = None
        self.plugin: Any = None
        self.args: Sequence[Any] = ()
        self.since = 0.0
        self.limit = NO_LIMIT  # of the current call, in seconds
        self.floor: FrameType | None = None  # of watched code that is not a call: nothing is raised in it
        self.budget = NO_LIMIT
        self.doomed = -1.0  # the start of the call that must be aborted
        self.turn = 0  # the turn of the event loop: the sum of all calls of a method in it is limited
        self.overrun_turn = -1  # a turn in which a call was aborted: clean-up gets less time
        self.record: Record | None = None
        self.suspicions: dict[tuple[str, str], Suspicion] = {}  # by plugin and uid
        self.on_overrun: Callable[[Overrun], None] = lambda _overrun: None
        self.on_failing: Callable[[Named, str, str], None] = lambda _plugin, _point, _message: None
        self.on_ended: Callable[[], None] = lambda: None  # called after an aborted call
        self.on_foreign: Callable[[], None] = lambda: None  # called when there is a plugin to watch

    def expect_calls(self) -> None:
        """Record that there is a plugin to watch."""
        if not self.has_foreign:
            self.has_foreign = True
            self.on_foreign()

    def next_turn(self) -> None:
        """Start a new turn, which resets the time used by methods."""
        self.turn += 1

    # ------------------------------------------------------------------------------------------- around a call

    def enter(self, site: CallSite, plugin: Any, args: Sequence[Any]) -> None:
        """Record the start of a call; PluginFailed if it is refused."""
        if site.turn != self.turn:
            site.turn, site.spent = self.turn, 0.0
        if site.stops or self.suspicions:
            self._refuse(site, plugin, args)
        if self.record is not None:
            self.record.begin(plugin, site, pod_of(args))
        self.limit = self.budget if self.turn != self.overrun_turn else self.budget * CLEAN_UP
        self.plugin, self.args, self.since = plugin, args, perf_counter()
        self.call = site

    def leave(self, site: CallSite) -> None:
        """Record the end of the call, in any case; the first statement is essential."""
        self.call = None
        site.spent += perf_counter() - self.since
        if self.record is not None:
            self.record.end()

    def failed(self, site: CallSite, plugin: Any, error: BaseException | None) -> PluginFailed:
        """Return the error to raise after a call that was aborted or raised a BaseException."""
        if not self.is_doomed():
            assert error is not None
            return PluginFailed(f"{type(error).__name__}: {error}{line_of(error, plugin)}")
        self.doomed = -1.0
        self.on_ended()
        seconds, pod = perf_counter() - self.since, pod_of(self.args)
        self.args = ()
        where = "" if error is None else line_of(error, plugin)
        message = f"it did not return within {self.limit:g}s in {site.point}{where}"
        self.block(site, plugin, pod, seconds, message)
        return TookTooLong(message, cost=seconds)

    def is_doomed(self) -> bool:
        """Return whether the last call had to be aborted, whatever its outcome."""
        return self.doomed == self.since

    def complain(self, site: CallSite, plugin: Any, error: Exception) -> None:
        """Report a method that fails every time, unless attempts report it."""
        if site.worked or site.point in OF_ATTEMPTS:
            return
        site.failures += 1
        if site.failures >= ENOUGH:
            what = str(error) if isinstance(error, PluginFailed) else f"{type(error).__name__}: {error}"
            self.on_failing(plugin, site.point, f"{site.point} fails every time: {what}{line_of(error, plugin)}")

    def block(self, site: CallSite, plugin: Any, pod: Pod | None, seconds: float, message: str) -> None:
        """Stop calling a method for a while because it took too long, and report it."""
        found = site.blocks.setdefault(id(plugin), Block(plugin))
        pause = found.grow(self.clock())
        found.reason = f"{message}; it is not called for {pause:g}s"
        found.uid, found.cost = "" if pod is None else pod.uid, seconds
        site.stops = True
        self.overrun_turn = self.turn
        self.on_overrun(Overrun(plugin, site.point, pod, seconds, message))

    def _refuse(self, site: CallSite, plugin: Any, args: Sequence[Any]) -> None:
        if self.suspicions:
            self._refuse_suspicious(plugin, args)
        now, found = self.clock(), site.blocks.get(id(plugin))
        if found is not None and now < found.until:
            pod = pod_of(args)
            again = pod is not None and pod.uid == found.uid  # in the same attempt
            raise TookTooLong(found.reason, rest=found.until - now, cost=found.cost if again else 0.0)
        if site.spent > self.budget:
            message = f"its calls of {site.point} in one turn took more than {self.budget:g}s together"
            self.block(site, plugin, pod_of(args), site.spent, message)
            raise TookTooLong(message, cost=site.spent)
        for key, block in list(site.blocks.items()):
            if now - block.until > REMEMBERED:
                del site.blocks[key]
        site.stops = bool(site.blocks)

    def _refuse_suspicious(self, plugin: Any, args: Sequence[Any]) -> None:
        now, pod = perf_counter(), pod_of(args)
        self.suspicions = {key: each for key, each in self.suspicions.items() if now < each.until}
        found = self.suspicions.get((plugin.name, "" if pod is None else pod.uid))
        if found is not None:
            raise TookTooLong(f"{found.message}; it is not called for a while", rest=found.until - now)


WATCH = CallWatch()  # one for the process: a signal has one handler, which runs in the main thread


def pod_of(args: Sequence[Any]) -> Pod | None:
    """Return the pod among the arguments of a call."""
    for value in args:
        found = value if isinstance(value, Pod) else getattr(value, "pod", None)
        if isinstance(found, Pod):
            return found
    return None


def line_of(error: BaseException, plugin: object) -> str:
    """Return the last line of the plugin's own file that an error went through."""
    module, found = type(plugin).__module__, ""
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == module:
            found = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    return found or (line_of(error.__cause__, plugin) if error.__cause__ is not None else "")
