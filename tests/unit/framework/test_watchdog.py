"""The watchdog beside calls of plugins: what is loaded within a time, and what cannot be ended is told."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import Score
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.framework.runtime import watchdog
from pilotage.framework.runtime.call_watch import NO_LIMIT, WATCH
from pilotage.framework.runtime.plugin_guard import guard
from pilotage.framework.runtime.watchdog import SIGNAL, WATCHDOG, within_budget
from pilotage.model.pod import Pod
from pilotage.testing import make_pod


@pytest.fixture(autouse=True)
def _end() -> Iterator[None]:
    yield
    WATCHDOG.stop()
    WATCH.budget = NO_LIMIT


def loops() -> None:
    while True:
        pass


def fails() -> None:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("deed", "told"),
    [
        pytest.param(loops, r"importing x\.py did not finish within 0\.1s \(.*test_watchdog\.py:\d+\)", id="a loop"),
        pytest.param(lambda: time.sleep(30), r"importing x\.py did not finish within 0\.1s", id="a sleep"),
        pytest.param(lambda: sys.exit(3), r"importing x\.py: SystemExit: 3 \(.*test_watchdog\.py:\d+\)", id="an exit"),
    ],
)
def test_what_is_done_within_a_time_fails_as_a_plugin(deed: Callable[[], object], told: str) -> None:
    start = time.perf_counter()
    with pytest.raises(PluginFailed, match=told), within_budget("importing x.py", 0.1):
        deed()
    assert time.perf_counter() - start < 10
    assert WATCH.call is None


def test_an_error_stays_what_it_is() -> None:
    with pytest.raises(ValueError, match="no"), within_budget("importing x.py", 0.1):
        fails()


def test_what_is_in_time_is_left_alone_and_the_next_one_has_all_of_its_own() -> None:
    for _ in range(3):
        with within_budget("importing x.py", 1.0):
            time.sleep(0.4)


def test_the_block_itself_is_not_ended() -> None:
    """It may be in the middle of something of ours: it comes to its end, and fails then."""
    done, end = [], time.perf_counter() + 0.3
    with pytest.raises(PluginFailed, match="did not finish"), within_budget("importing x.py", 0.1):  # noqa: PT012
        while time.perf_counter() < end:
            pass
        done.append("all of it")
    assert done


def test_in_another_thread_nothing_is_ended() -> None:
    done = []

    def work() -> None:
        with within_budget("importing x.py", 0.05):
            time.sleep(0.2)
        done.append("all of it")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["all of it"]


class Holds(Score):
    """Cannot be interrupted, as code in C that does not return."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, {SIGNAL})
        try:
            time.sleep(0.8)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {SIGNAL})
        return 7


def test_a_call_that_cannot_be_ended_is_told_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str, str, bool]] = []
    monkeypatch.setattr(watchdog, "STALLED", 0.2)
    monkeypatch.setattr(
        WATCHDOG,
        "on_stalled",
        lambda plugin, point, message: told.append(
            (plugin.name, point, message, threading.current_thread() is threading.main_thread())
        ),
    )
    plugin = Holds()
    guard([plugin])
    WATCH.budget = 0.1
    WATCHDOG.start()
    start = time.perf_counter()
    with pytest.raises(PluginFailed, match="it did not return within"):
        plugin.score(None, make_pod("a"), None)  # type: ignore[arg-type]
    assert time.perf_counter() - start >= 0.8
    assert [each[:2] + each[3:] for each in told] == [("Holds", "score", False)]
    assert told[0][2].startswith("it has not returned for ")
    assert told[0][2].endswith("s in score for pod default/a, and cannot be interrupted")
