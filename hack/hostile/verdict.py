"""What a shape may cost, and which measurements are too much."""

from hostile.trial import Measurement

LONGEST_STANDSTILL = 50.0  # ms of one turn of the event loop
LONGEST_IDLE = 500.0  # ms that a neighbour waits while nothing works, on a machine that may be busy
MOST_FACTOR = 2.0  # how much slower a neighbour may be
READING = 5.0  # ms for each MiB that stands in a watch before a neighbour's pod: nothing can overtake there
NOISE = 1.5  # ms: two plain pods differ by as much for no reason
# Memory may grow with what is stored; what was deleted leaves pages half used, and caches with fixed ends full.
GROWN_BASE, GROWN_PER_BYTE = 64.0, 16.0  # MiB, and bytes for each byte of JSON
KEPT_BASE, KEPT_PER_BYTE = 80.0, 2.0


def faults(found: Measurement) -> list[str]:
    """Return what is wrong with a measurement, in words."""
    stored = found.bytes / 2**20
    checks = [
        (bool(found.trouble), found.trouble),
        (found.standstill_ms > LONGEST_STANDSTILL, "standstill"),
        (found.wait_ms > longest_wait(found), "neighbour waits"),
        (found.idle_ms > LONGEST_IDLE, f"neighbour blocked for {found.idle_ms / 1e3:.1f} s"),
        (found.after_ms > longest_pair(found), "neighbour slower"),
        (found.grown_mib > GROWN_BASE + GROWN_PER_BYTE * stored, "memory"),
        (found.kept_mib > KEPT_BASE + KEPT_PER_BYTE * stored, "memory kept"),
    ]
    return [text for is_wrong, text in checks if is_wrong]


def cost(found: Measurement) -> float:
    """Return the cost of a shape, relative to its limit; the highest for one that does not finish."""
    if found.trouble:
        return float("inf")
    waits, slower = found.wait_ms / longest_wait(found), found.after_ms / longest_pair(found)
    memory = found.grown_mib / (GROWN_BASE + GROWN_PER_BYTE * found.bytes / 2**20)
    return max(found.standstill_ms / LONGEST_STANDSTILL, waits, slower, memory)


def is_beyond_doubt(found: Measurement) -> bool:
    """Return whether something is so wrong that it cannot be noise."""
    return bool(found.trouble) or found.standstill_ms > 3 * LONGEST_STANDSTILL


def longest_pair(found: Measurement) -> float:
    """Return the milliseconds that two plain pods may take beside a shape."""
    return MOST_FACTOR * found.usual_ms + NOISE


def longest_wait(found: Measurement) -> float:
    """Return the milliseconds that a neighbour may wait: its turn comes after what came before it."""
    before = found.usual_ms * found.pods + READING * found.bytes / 2**20
    return max(LONGEST_STANDSTILL, MOST_FACTOR * found.usual_ms) + before


def better(one: Measurement, other: Measurement) -> Measurement:
    """Return the better figures of two trials: what differs for the worse is noise of the machine."""
    if one.trouble or other.trouble:
        return one if not one.trouble else other
    slower = one if one.factor <= other.factor else other
    steadier = one if one.standstill_ms <= other.standstill_ms else other
    return Measurement(
        one.shape,
        one.size,
        one.bytes,
        one.pods,
        usual_ms=slower.usual_ms,
        after_ms=slower.after_ms,
        wait_ms=min(one.wait_ms, other.wait_ms),
        idle_ms=min(one.idle_ms, other.idle_ms),
        standstill_ms=steadier.standstill_ms,
        where=steadier.where,
        grown_mib=min(one.grown_mib, other.grown_mib),
        kept_mib=min(one.kept_mib, other.kept_mib),
        told=one.told,
    )
