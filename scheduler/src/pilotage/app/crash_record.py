"""Records the plugin call in progress for the next process, in case this one crashes: a memory-mapped file.

byte 0         1 during a plugin call, otherwise 0
bytes 8..      the plugin and its method
bytes 1024..   the pod: its profile, uid and name
bytes 4096..   JSON: the calls that crashed earlier processes

A call costs only a few bytes written to memory. The kernel keeps them, however the process ends.
"""

import logging
import mmap
import time
from pathlib import Path
from time import perf_counter

import msgspec

from pilotage.framework.runtime.call_watch import CallSite, Named, Suspicion
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

SIZE = 64 << 10
CALLED, ASKED, KNOWN = slice(8, 1024), slice(1024, 4096), slice(4096, SIZE)  # parts of the file
SEPARATOR = "\x1f"
FORGOTTEN_AFTER = 24 * 3600.0  # seconds
MOST = 50  # calls that are remembered
FIRST_REST, LONGEST_REST = 30.0, 600.0  # seconds until the plugin is called for the pod again


class Fatal(msgspec.Struct, forbid_unknown_fields=True):
    """A call that crashed a process."""

    plugin: str
    point: str
    scheduler: str
    uid: str
    pod: str
    times: int
    at: float  # wall-clock seconds

    def suspicion(self) -> Suspicion:
        """Return how long not to repeat the call."""
        rest = min(FIRST_REST * 2.0 ** (self.times - 1), LONGEST_REST)
        until = perf_counter() + rest
        return Suspicion(self.plugin, self.point, self.scheduler, self.uid, self.pod, self.times, until)


class CrashRecord:
    """The file, open as long as the process runs."""

    def __init__(self, path: Path) -> None:
        with path.open("a+b") as file:
            file.truncate(SIZE)
            self._memory = mmap.mmap(file.fileno(), SIZE)
        self._pod: Pod | None = None
        self._site: CallSite | None = None
        self._plugin: Named | None = None

    def begin(self, plugin: Named, site: CallSite, pod: Pod | None) -> None:
        """Note a call."""
        if site is not self._site or plugin is not self._plugin:
            self._site, self._plugin = site, plugin
            self._write(CALLED, f"{plugin.name}{SEPARATOR}{site.point}".encode())
        if pod is not self._pod or pod is None:
            self._pod = pod
            about = ("", "", "") if pod is None else (pod.scheduler_name, pod.uid, pod.key)
            self._write(ASKED, SEPARATOR.join(about).encode())
        self._memory[0] = 1

    def end(self) -> None:
        """Record that the call has ended."""
        self._memory[0] = 0

    def read(self) -> tuple[Suspicion | None, list[Suspicion]]:
        """Return the call that crashed the previous process, and all recent ones including it."""
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
        called, asked = self._parts(CALLED), self._parts(ASKED)
        if self._memory[0] != 1 or len(called) != 2 or len(asked) != 3:
            return None
        (plugin, point), (scheduler, uid, pod) = called, asked
        return Fatal(plugin, point, scheduler, uid, pod, times=1, at=time.time())

    def _parts(self, where: slice) -> list[str]:
        return self._memory[where].rstrip(b"\0").decode(errors="replace").split(SEPARATOR)

    def _write(self, where: slice, text: bytes) -> None:
        size = where.stop - where.start
        self._memory[where] = text[:size].ljust(size, b"\0")

    def _known(self) -> list[Fatal]:
        text = self._memory[KNOWN].rstrip(b"\0")
        try:
            return msgspec.json.decode(text, type=list[Fatal]) if text else []
        except msgspec.MsgspecError as error:
            log.warning("the crash record cannot be decoded, starting a new one: %s", error)
            return []

    def _keep(self, known: list[Fatal]) -> None:
        while len(text := msgspec.json.encode(known)) > KNOWN.stop - KNOWN.start:
            del known[0]
        self._write(KNOWN, text)
