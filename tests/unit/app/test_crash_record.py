"""The call of a plugin that a process has not survived is known to the next one."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pilotage.app import crash_record
from pilotage.app.crash_record import CrashRecord
from pilotage.app.plugin_watch import remember_crashes
from pilotage.framework.runtime.call_watch import WATCH, CallSite
from pilotage.testing import make_pod

DIES = """
import os, signal, sys
from pathlib import Path
from pilotage.app.plugin_watch import remember_crashes
from pilotage.framework.api.plugin import Score
from pilotage.framework.runtime.plugin_guard import guard
from pilotage.testing import make_pod

class Dies(Score):
    def score(self, cycle, pod, node):
        if pod.uid == "bad":
            os.kill(os.getpid(), signal.SIGKILL)
        return 1

remember_crashes(sys.argv[1])
plugin = Dies()
guard([plugin])
plugin.score(None, make_pod("good", uid="good"), None)
if sys.argv[2] == "bad":
    plugin.score(None, make_pod("web", uid="bad", scheduler="batch"), None)
"""


def run(file: Path, pod: str) -> int:
    return subprocess.run([sys.executable, "-c", DIES, file, pod], check=False, timeout=60).returncode


class Named:
    name = "Mine"


def test_a_process_that_is_killed_in_a_call_leaves_its_name(tmp_path: Path) -> None:
    file = tmp_path / "record"
    assert run(file, "bad") == -signal.SIGKILL
    try:
        last = remember_crashes(str(file))
        assert last is not None
        assert (last.plugin, last.point, last.scheduler, last.uid, last.pod) == (
            *("Dies", "score", "batch", "bad", "default/web"),
        )
        assert last.message == "the scheduler exited while the plugin was called for pod default/web in score"
        assert 29 < last.until - time.perf_counter() <= 30
        assert WATCH.suspicions == {("Dies", "bad"): last}
    finally:
        WATCH.record, WATCH.suspicions = None, {}


def test_one_that_ends_otherwise_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "record"
    assert run(file, "good") == 0
    assert CrashRecord(file).read() == (None, [])


def test_each_time_the_pod_waits_longer(tmp_path: Path) -> None:
    rests = []
    for times in range(1, 8):
        CrashRecord(tmp_path / "record").begin(Named(), CallSite("filter"), make_pod("a", uid="1"))
        last, known = CrashRecord(tmp_path / "record").read()
        assert last is not None
        assert (last.times, len(known)) == (times, 1)
        rests.append(round(last.until - time.perf_counter()))
    assert rests == [30, 60, 120, 240, 480, 600, 600]


def test_what_others_did_not_survive_is_remembered_for_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = CrashRecord(tmp_path / "record")
    for uid in ("1", "2"):
        record.begin(Named(), CallSite("filter"), make_pod("a", uid=uid))
        record.read()
    last, known = record.read()
    assert last is None
    assert [each.uid for each in known] == ["1", "2"]
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    assert record.read() == (None, [])


def test_no_more_is_kept_than_fits(tmp_path: Path) -> None:
    record = CrashRecord(tmp_path / "record")
    for number in range(60):
        record.begin(Named(), CallSite("filter"), make_pod("a", uid=str(number) + "x" * 2500))
        record.read()
    _, known = record.read()
    assert known[-1].uid.startswith("59")
    assert len(known) < 50
    assert (tmp_path / "record").stat().st_size == crash_record.SIZE


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff" * 70000, id="something else, and more of it"),
        pytest.param(b"\1" + b"\0" * 7 + b"abc", id="a note with too few parts"),
        pytest.param(b"\0" * 4096 + b'[{"plugin": 1}]', id="entries of other types"),
        pytest.param(b"\0" * 4096 + b"[", id="half of it"),
    ],
)
def test_a_file_that_is_not_understood_begins_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "record").write_bytes(content)
    assert CrashRecord(tmp_path / "record").read() == (None, [])
    assert (tmp_path / "record").stat().st_size == crash_record.SIZE


def test_a_folder_that_is_not_there_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert remember_crashes(str(tmp_path / "no" / "record")) is None
    assert "--crash-record" in caplog.text
