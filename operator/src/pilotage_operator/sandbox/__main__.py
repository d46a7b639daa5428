"""The sandbox process, which imports our own plugins and forks a child for each request.

stdin: one request per line   ──>   fork: limits, answer, exit   ──>   stdout: one answer per line
"""

import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from pilotage.plugins.catalogue import PluginCatalogue, built_in
from pilotage_operator.sandbox.answering import answer
from pilotage_operator.sandbox.limits import LARGEST_ANSWER, MORE_MEMORY, SECONDS
from pilotage_operator.sandbox.records import Answer, Question

_CHUNK = 64 << 10


def main() -> None:
    """Answer requests until the end of input."""
    known = built_in()
    answers = os.dup(sys.stdout.fileno())
    for line in sys.stdin.buffer:
        _write(answers, _asked(line, known) + b"\n")


def _asked(line: bytes, known: PluginCatalogue) -> bytes:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer_and_end(line, known, writing)
    os.close(writing)
    # Both parent and child call it: otherwise a child that exits immediately might have no process group.
    with suppress(OSError):
        os.setpgid(child, child)
    try:
        found, in_time = _read(reading, time.monotonic() + SECONDS)
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # including its children
        _, status = os.waitpid(child, 0)
    if not in_time:
        return msgspec.json.encode(Answer(problem=f"its import did not finish within {SECONDS:.0f} s"))
    with suppress(msgspec.MsgspecError):
        msgspec.json.decode(found, type=Answer)
        return found
    return msgspec.json.encode(Answer(problem=_why(status)))


def _why(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if -code == signal.SIGXCPU:
        return "its import used too much CPU time"
    return f"the process that imported it ended with {signal.Signals(-code).name if code < 0 else f'code {code}'}"


def _read(pipe: int, deadline: float) -> tuple[bytes, bool]:
    """Read to the end; False after a time-out, or if the answer is too large."""
    found = b""
    while len(found) <= LARGEST_ANSWER:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return found, False
        chunk = os.read(pipe, _CHUNK)
        if not chunk:
            return found, True
        found += chunk
    return found, False


def _answer_and_end(line: bytes, known: PluginCatalogue, writing: int) -> None:
    """Answer in the child, and exit: it must not continue with the parent's code."""
    code = 1
    try:
        os.setpgid(0, 0)
        _limit()
        found = msgspec.json.encode(answer(msgspec.json.decode(line, type=Question), known))
        _write(writing, found)
        code = 0
    finally:
        os._exit(code)  # also after SystemExit


def _limit() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    seconds = int(SECONDS) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MORE_MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _write(where: int, data: bytes) -> None:
    while data:
        data = data[os.write(where, data) :]


if __name__ == "__main__":
    main()
