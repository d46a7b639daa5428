"""Writes log lines without waiting long for the reader: a blocked log must not stop scheduling."""

import logging
import os
import select

# Writes of this size are atomic, and never block if the pipe has space at all.
AT_ONCE = select.PIPE_BUF
PATIENCE = 20  # milliseconds; an active reader is faster


class LineWriter(logging.Handler):
    """Writes each record immediately; lines that cannot be written are dropped and counted."""

    def __init__(self, descriptor: int = 2) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._readiness = select.poll()
        self._readiness.register(descriptor, select.POLLOUT)
        self._stalled = False
        self._torn = False  # a line was written partially
        self.dropped = 0
        self._reported = 0  # the number of dropped lines that have been reported

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; never raises."""
        try:
            text = f"{self.format(record)}\n"
            if self.dropped > self._reported:
                text = f"{self._complaint()}\n{text}"
            written = self._write(text.encode(errors="backslashreplace"))
        except Exception:
            written = False
        if written:
            self._reported = self.dropped
        else:
            self.dropped += 1

    def _write(self, lines: bytes) -> bool:
        lines = b"\n" + lines if self._torn else lines
        for first in range(0, len(lines), AT_ONCE):
            if not self._readiness.poll(0 if self._stalled else PATIENCE):
                self._stalled = True
                return False
            os.write(self._descriptor, lines[first : first + AT_ONCE])
            self._torn = first + AT_ONCE < len(lines)
        self._stalled = False
        return True

    def _complaint(self) -> str:
        record = logging.LogRecord(
            __name__, logging.WARNING, __file__, 1, "The log could not be written, lines are missing", None, None
        )
        record.values = {"lines": self.dropped - self._reported}
        return self.format(record)
