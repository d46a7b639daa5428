"""A trial in a process of its own: its memory is its own, and it can be ended."""

import multiprocessing
import resource
from multiprocessing.connection import Connection

from hostile.shapes import Shape
from hostile.trial import Limits, Measurement, try_shape
from hostile.verdict import better, faults, is_beyond_doubt

WALL_SECONDS = 900.0
MOST_MEMORY = 4 << 30  # bytes of one trial
_processes = multiprocessing.get_context("fork")


def measure(shape: Shape, size: int, seed: int, limits: Limits, repetitions: int = 3) -> Measurement:
    """Try a shape, and again while something is wrong with it: a fault is one that stays."""
    found = _once(shape, size, seed, limits)
    for _ in range(repetitions - 1):
        if not faults(found) or is_beyond_doubt(found):
            break
        found = better(found, _once(shape, size, seed, limits))
    found.faults = faults(found)
    return found


def _once(shape: Shape, size: int, seed: int, limits: Limits) -> Measurement:
    receive, send = _processes.Pipe(duplex=False)
    process = _processes.Process(target=_run, args=(send, shape, size, seed, limits), daemon=True)
    process.start()
    send.close()
    try:
        if receive.poll(WALL_SECONDS):
            answer: Measurement = receive.recv()
            return answer
        trouble = f"no end after {WALL_SECONDS:.0f} s"
    except EOFError:
        trouble = f"no end after {limits.most_seconds} s of CPU, or no memory left"
    finally:
        process.kill()
        process.join()
    return Measurement(shape.name, size, trouble=trouble)


def _run(send: Connection, shape: Shape, size: int, seed: int, limits: Limits) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.most_seconds, limits.most_seconds))
    try:
        found = try_shape(shape, size, seed, limits)
    except Exception as error:
        found = Measurement(shape.name, size, trouble=f"{type(error).__name__}: {error}"[:200])
    send.send(found)
