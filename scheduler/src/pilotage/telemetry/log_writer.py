"""Writes lines to where the log goes, and waits for nobody for long: a log that nobody reads must not stop pods."""

import logging
import os
import select

# So much fits whenever there is room at all, without waiting and in one piece.
AT_ONCE = select.PIPE_BUF
PATIENCE = 20  # milliseconds; a reader that is there is quicker


class LineWriter(logging.Handler):
    """Writes each record at once; lines that nobody takes are dropped and counted."""

    def __init__(self, descriptor: int = 2) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._readiness = select.poll()
        self._readiness.register(descriptor, select.POLLOUT)
        self._stalled = False
        self._torn = False  # a line was begun and not ended
        self.dropped = 0
        self._told = 0  # how many of the dropped lines were told of

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; nothing that can happen here is worth an exception."""
        try:
            text = f"{self.format(record)}\n"
            if self.dropped > self._told:
                text = f"{self._complaint()}\n{text}"
            written = self._write(text.encode(errors="backslashreplace"))
        except Exception:
            written = False
        if written:
            self._told = self.dropped
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
        record.values = {"lines": self.dropped - self._told}
        return self.format(record)
