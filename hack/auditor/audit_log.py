"""The audit log, read as it grows: through rotation, truncation and half-written lines."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from auditor.attempt import Attempt, attempt_of


class AuditLog:
    """Follows a log file from where it ends now; a file that does not exist yet is read from its beginning."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rest = b""
        self.unreadable = 0

    async def start(self) -> None:
        """Skip what was written before the auditor started."""
        await asyncio.to_thread(self._skip_to_end)

    async def read(self) -> list[Attempt]:
        """Return the binding requests logged since the last time."""
        return await asyncio.to_thread(lambda: list(self._new_attempts()))

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()

    def _skip_to_end(self) -> None:
        self._open()
        if self._file and self._file.seek(0, 2):
            # The end may be in the middle of a line; the rest is not valid JSON, which is no error.
            self._file.seek(-1, 2)
            self._rest = b"" if self._file.read(1) == b"\n" else b"#"

    def _new_attempts(self) -> Iterator[Attempt]:
        for line in self._new_lines():
            if line.startswith(b"#"):
                continue
            try:
                attempt = attempt_of(json.loads(line))
            except (ValueError, TypeError, AttributeError, RecursionError):
                self.unreadable += 1
                continue
            if attempt:
                yield attempt

    def _new_lines(self) -> Iterator[bytes]:
        if self._file is None:
            self._open()
        yield from self._lines_to_end()
        if self._was_replaced():
            # The writer may have added to the old file until the moment it turned to the new one.
            yield from self._lines_to_end()
            self._open()
            yield from self._lines_to_end()

    def _lines_to_end(self) -> Iterator[bytes]:
        if self._file is None:
            return
        if self._file.tell() > os.fstat(self._file.fileno()).st_size:
            self._file.seek(0)
            self._forget_half_line()
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        yield from (line for line in lines if line.strip())

    def _was_replaced(self) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False  # between the two steps of a rotation
        if self._file is None:
            return True
        here = os.fstat(self._file.fileno())
        return (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino)

    def _open(self) -> None:
        self.close()
        self._forget_half_line()
        try:
            self._file = self._path.open("rb")
        except FileNotFoundError:
            self._file = None

    def _forget_half_line(self) -> None:
        self.unreadable += bool(self._rest.strip(b"#"))
        self._rest = b""
