"""The watchdog: a thread that watches the current plugin call, and aborts it if it takes too long."""

import logging
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from time import perf_counter
from types import FrameType, TracebackType
from typing import Any, Self

from pilotage.framework.api.verdicts import PluginFailed
from pilotage.framework.runtime.call_watch import WATCH, CallSite, CallWatch, OverBudget, pod_of
from pilotage.framework.runtime.forced_abort import ForcedAbort
from pilotage.framework.runtime.plugin_guard import REGIONS

log = logging.getLogger(__name__)

SIGNAL = signal.SIGUSR2
TICK = 0.05  # seconds between two checks
RARELY = 1.0  # seconds between checks without custom plugins
SOON = 0.005  # seconds until the next check while a call is being aborted
PATIENCE = 20  # attempts that spare code outside of the plugin's own module: it may be in a critical section
GENTLE = 3  # times that a plugin may swallow the exception to clean up
STALLED = 5.0  # seconds after which a call that cannot be aborted is reported
HOPELESS = 10.0  # seconds after which the process exits: until then no pod is scheduled


class Watchdog:
    """The watching thread, and the signal handler in the main thread."""

    def __init__(self, watch: CallWatch = WATCH) -> None:
        self._watch = watch
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._wake = threading.Event()
        self._target = -1.0  # the start of the call that is being aborted
        self._declined = self._raised = 0  # how often its abort was postponed, and attempted
        self._forced_abort: ForcedAbort | None = None
        self._reported = -1.0  # the call that was reported as stalled
        self._seen = 0.0
        self.ask_for_turn: Callable[[], None] = watch.next_turn  # called in the thread of the event loop
        # Both are called in the watching thread.
        self.on_stalled: Callable[[Any, str, str], None] = lambda _plugin, _point, _message: None
        self.on_hopeless: Callable[[], None] = lambda: None
        watch.on_ended, watch.on_foreign = self._ended, self._wake.set

    def start(self) -> bool:
        """Start the thread unless it runs; False outside of the main thread, since only that receives signals."""
        if threading.current_thread() is not threading.main_thread():
            return False
        if self._thread is None or not self._thread.is_alive():
            signal.signal(SIGNAL, self._on_signal)
            self._is_stopping = False
            self._thread = threading.Thread(target=self._run, name="plugin-watchdog", daemon=True)
            self._thread.start()
        return True

    def look_often(self) -> bool:
        """Start the thread even without a custom plugin; False if that is not possible."""
        self._watch.expect_calls()
        return self.start()

    def stop(self) -> None:
        """Stop watching."""
        self._is_stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None

    # ----------------------------------------------------------------------------------------- in its own thread

    def _run(self) -> None:
        pause = 0.0
        while not self._is_stopping:
            self._wake.wait(pause)
            self._wake.clear()
            try:
                pause = self._look()
            except Exception:
                log.exception("the watchdog of plugins failed")
                pause = TICK

    def _look(self) -> float:
        """Abort the current call if necessary; returns when to check again."""
        watch = self._watch
        site, since, now = watch.call, watch.since, perf_counter()
        if since != self._seen:
            self._seen = since
            self.ask_for_turn()
        if site is None:
            return TICK if watch.has_foreign else RARELY
        spent = site.spent if site.turn == watch.turn else 0.0
        left = watch.limit - (now - since) - spent
        if left > 0:
            return min(TICK, max(left, SOON))
        site.stops = True
        self._request_abort(site, since)
        if now - since > watch.limit + STALLED and self._reported != since:
            self._reported = since
            self._report_stalled(site, now - since)
        if now - since > watch.limit + HOPELESS:
            self.on_hopeless()
        return SOON

    def _request_abort(self, site: CallSite, since: float) -> None:
        if self._target != since:
            self._target, self._declined, self._raised = since, 0, 0
            self._log_overrun(site)
        self._watch.doomed = since
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, SIGNAL)

    def _log_overrun(self, site: CallSite) -> None:
        watch, pod = self._watch, pod_of(self._watch.args)
        who = getattr(watch.plugin, "name", watch.plugin)
        about = "" if pod is None else f" for pod {pod.key}"
        log.error("%s has not returned within %gs in %s%s\n%s", who, watch.limit, site.point, about, _stack())

    def _report_stalled(self, site: CallSite, seconds: float) -> None:
        plugin, pod = self._watch.plugin, pod_of(self._watch.args)
        about = "" if pod is None else f" for pod {pod.key}"
        message = f"it has not returned for {seconds:.0f}s in {site.point}{about}, and cannot be interrupted"
        log.error("%s: %s", getattr(plugin, "name", plugin), message)
        self.on_stalled(plugin, site.point, message)

    # ---------------------------------------------------------------------------------------- in the main thread

    def _on_signal(self, _number: int, frame: FrameType | None) -> None:
        """Raise inside of the plugin if the call to abort is still running; never anywhere else."""
        watch = self._watch
        if watch.call is None or not watch.is_doomed() or frame is None or not self._is_inside(frame):
            return
        own = type(watch.plugin).__module__
        self._forced_abort = self._forced_abort or ForcedAbort(self._over_budget)
        if frame.f_globals.get("__name__") != own and self._declined < PATIENCE:
            self._declined += 1
            frames = [each for each in self._running_frames(frame) if each.f_globals.get("__name__") == own]
            self._forced_abort.begin(frames, once=self._raised <= GENTLE)  # aborts at its next own line
            return
        if self._raised >= GENTLE:
            self._forced_abort.begin(self._running_frames(frame))
        raise self._over_budget()

    def _over_budget(self) -> OverBudget:
        self._declined, self._raised = 0, self._raised + 1
        return OverBudget()

    def _is_inside(self, frame: FrameType) -> bool:
        """Return whether the running code belongs to the plugin call, not to the watched region itself."""
        return not self._is_outside(frame) and any(map(self._is_outside, _outwards(frame)))

    def _running_frames(self, innermost: FrameType) -> list[FrameType]:
        """Return the running functions of the call, without nested watched regions."""
        frames = list(_outwards(innermost))
        while frames and not self._is_outside(frames.pop()):
            pass
        return [frame for frame in frames if not self._is_outside(frame)]

    def _is_outside(self, frame: FrameType) -> bool:
        return frame.f_code in REGIONS or frame is self._watch.floor

    def _ended(self) -> None:
        if self._forced_abort is not None:
            self._forced_abort.end()
            self._forced_abort = None


WATCHDOG = Watchdog()


class within_budget:  # noqa: N801 - it reads like a function
    """Aborts a `with` block after a time with PluginFailed, which also replaces SystemExit and the like.

    Only code called by the block is aborted, never the block itself. Outside of the main thread nothing is aborted.
    """

    def __init__(self, what: str, seconds: float) -> None:
        self._site, self._seconds = CallSite(what), seconds
        self._is_watched = False

    def __enter__(self) -> Self:
        watch = WATCH
        if watch.call is None and self._seconds and WATCHDOG.look_often():
            self._is_watched = True
            watch.plugin, watch.args, watch.floor = self, (), sys._getframe(1)
            watch.limit, watch.since = self._seconds, perf_counter()
            watch.call = self._site
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        watch = WATCH
        if self._is_watched:
            watch.call = None
            watch.floor, watch.plugin = None, None
            if watch.is_doomed():
                watch.doomed = -1.0
                watch.on_ended()
                raise PluginFailed(
                    f"{self._site.point} did not finish within {self._seconds:g}s{_where(error)}"
                ) from error
        if error is not None and not isinstance(error, Exception):
            what = f"{type(error).__name__}: {error}"
            raise PluginFailed(f"{self._site.point}: {what}{_where(error)}") from error


def _where(error: BaseException | None) -> str:
    """Return the line that raised an error."""
    found, trace = "", None if error is None else error.__traceback__
    while trace is not None and trace.tb_frame.f_globals is not globals():
        found = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    return found


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a running function, its caller, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _stack() -> str:
    """Return the stack of the main thread."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return "".join(traceback.format_stack(frame)) if frame is not None else ""


REGIONS |= {within_budget.__enter__.__code__, within_budget.__exit__.__code__}
