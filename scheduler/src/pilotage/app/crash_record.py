"""Which call of a plugin was under way when the process ended, for the next one: a file that is memory of both.

bytes 0..3     how long the note is; 0 while no plugin is called
bytes 4..      the note about the call in flight: plugin, method, profile, uid and name of the pod
bytes 4096..   JSON: the calls that processes before have not survived

Around a call a few bytes of memory are written, and nothing else is done. The system keeps them, however the process
ends.
"""

import logging
import mmap
import time
from pathlib import Path
from time import perf_counter

import msgspec

from pilotage.framework.call_watch import Desk, Named, Suspicion
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

SIZE, HEAD = 64 << 10, 4096
NOTHING = bytes(4)
SEPARATOR = "\x1f"
FORGOTTEN_AFTER = 24 * 3600.0  # seconds
MOST = 50  # calls that are remembered
FIRST_REST, LONGEST_REST = 30.0, 600.0  # seconds until the plugin is asked about the pod again


class Fatal(msgspec.Struct, forbid_unknown_fields=True):
    """A call that a process has not survived."""

    plugin: str
    point: str
    scheduler: str
    uid: str
    pod: str
    times: int
    at: float  # seconds as on the wall

    def suspicion(self) -> Suspicion:
        """Return for how long nobody should try that again."""
        rest = min(FIRST_REST * 2.0 ** (self.times - 1), LONGEST_REST)
        until = perf_counter() + rest
        return Suspicion(self.plugin, self.point, self.scheduler, self.uid, self.pod, self.times, until)


class CrashRecord:
    """The file, open for as long as the process lives."""

    def __init__(self, path: Path) -> None:
        with path.open("a+b") as file:
            file.truncate(SIZE)
            self._memory = mmap.mmap(file.fileno(), SIZE)
        self._pod: Pod | None = None
        self._desk: Desk | None = None
        self._length = NOTHING

    def begin(self, plugin: Named, desk: Desk, pod: Pod | None) -> None:
        """Note a call."""
        if pod is not self._pod or desk is not self._desk or pod is None:
            about = ("", "", "") if pod is None else (pod.scheduler_name, pod.uid, pod.key)
            note = SEPARATOR.join((plugin.name, desk.point, *about)).encode()[: HEAD - 4]
            self._memory[4 : 4 + len(note)] = note
            self._pod, self._desk, self._length = pod, desk, len(note).to_bytes(4, "little")
        self._memory[0:4] = self._length

    def end(self) -> None:
        """Note that it is over."""
        self._memory[0:4] = NOTHING

    def read(self) -> tuple[Suspicion | None, list[Suspicion]]:
        """Return the call that the process before has not survived, and all that are not long ago, with that one."""
        known, last = self._known(), self._in_flight()
        self.end()
        now = time.time()
        known = [each for each in known if 0 <= now - each.at < FORGOTTEN_AFTER]
        if last is not None:
            same = next((each for each in known if (each.plugin, each.uid) == (last.plugin, last.uid)), None)
            last.times += same.times if same is not None else 0
            others = [each for each in known if each is not same]
            known = [*others[1 - MOST :], last]
        self._keep(known)
        found = [each.suspicion() for each in known]
        return (None if last is None else found[-1]), found

    def _in_flight(self) -> Fatal | None:
        length = int.from_bytes(self._memory[0:4], "little")
        if not 0 < length <= HEAD - 4:
            return None
        parts = self._memory[4 : 4 + length].decode(errors="replace").split(SEPARATOR)
        if len(parts) != 5:
            return None
        plugin, point, scheduler, uid, pod = parts
        return Fatal(plugin, point, scheduler, uid, pod, times=1, at=time.time())

    def _known(self) -> list[Fatal]:
        text = self._memory[HEAD:].rstrip(b"\0")
        try:
            return msgspec.json.decode(text, type=list[Fatal]) if text else []
        except msgspec.MsgspecError as error:
            log.warning("the crash record is not understood, it begins anew: %s", error)
            return []

    def _keep(self, known: list[Fatal]) -> None:
        while len(text := msgspec.json.encode(known)) > SIZE - HEAD:
            del known[0]
        self._memory[HEAD:] = text.ljust(SIZE - HEAD, b"\0")
