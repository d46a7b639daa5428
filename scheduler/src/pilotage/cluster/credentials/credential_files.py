"""Reads files with tokens, keys and certificates, with limits on location and size."""

import os
import stat
from pathlib import Path

LARGEST = 1 << 20  # bytes; a bundle of authorities has a quarter of that


class Withheld(OSError):
    """A file that must not be read; the message says why."""


def read_credential(path: str, directory: str | None) -> bytes:
    """Return a file's content; with a directory, only of a regular file that is below it after resolving links.

    Kubernetes mounts a Secret as links to a sibling folder, which it replaces atomically.
    """
    if directory is None:
        return Path(path).read_bytes()
    real, inside = os.path.realpath(path, strict=True), os.path.realpath(directory, strict=True)
    if not real.startswith(f"{inside.rstrip('/')}/"):
        raise Withheld(f"{path} is outside of {directory}")
    found = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(found, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
            raise Withheld(f"{path} is not a regular file of at most {LARGEST >> 20} MiB")
        return file.read(LARGEST)
