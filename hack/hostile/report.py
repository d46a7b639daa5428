"""Tables of measurements, of one run or of two beside each other."""

import json
from collections.abc import Iterable
from pathlib import Path

from hostile.trial import Measurement

HEAD = (
    f"{'shape':52} {'size':>9} {'KiB':>6} {'standstill':>11} {'waits':>9} {'neighbour':>17} "
    f"{'MiB':>6} {'kept':>6}  verdict"
)
TOLD = 110  # characters


def row(found: Measurement) -> str:
    """Return a line about a shape, and what its pod was told."""
    times = f"{found.usual_ms:.1f} > {found.after_ms:.1f} ({found.factor:.1f}x)"
    verdict = ", ".join(found.faults) or "ok"
    line = (
        f"{found.shape:52} {found.size:>9,} {found.bytes >> 10:>6,} "
        f"{found.standstill_ms:>8,.0f} ms {found.wait_ms:>6,.0f} ms "
        f"{times:>17} {found.grown_mib:>6.0f} {found.kept_mib:>6.0f}  {verdict}"
    )
    place = f"{'':4}in {found.where}" if "standstill" in found.faults else ""
    told = f"{'':4}told: {found.told[:TOLD]}" if found.told else ""
    return "\n".join(part for part in (line, place, told) if part)


def save(path: Path, found: Iterable[Measurement]) -> None:
    """Write measurements to a file."""
    path.write_text(json.dumps([each.data() for each in found], indent=1) + "\n")


def read(path: Path) -> dict[str, Measurement]:
    """Read measurements from a file, by shape."""
    return {each["shape"]: Measurement(**each) for each in json.loads(path.read_text())}


def comparison(before: dict[str, Measurement], after: Iterable[Measurement]) -> str:
    """Return a table of what was and what is."""
    lines = [f"{'shape':52} {'standstill, ms':>17} {'waits, ms':>17} {'neighbour':>13} {'MiB':>11}  verdict"]
    for now in after:
        was = before.get(now.shape)
        if was is None:
            continue
        lines.append(
            f"{now.shape:52} {_pair(was.standstill_ms, now.standstill_ms):>17} {_pair(was.wait_ms, now.wait_ms):>17} "
            f"{was.factor:>4.1f}x > {now.factor:>4.1f}x {_pair(was.grown_mib, now.grown_mib):>11}  "
            f"{', '.join(was.faults) or 'ok'} > {', '.join(now.faults) or 'ok'}"
        )
    return "\n".join(lines)


def _pair(before: float, after: float) -> str:
    return f"{before:,.0f} > {after:,.0f}"
