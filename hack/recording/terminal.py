"""A terminal as SVG: its lines appear when they appeared, all stay for a while, and it begins again.

Who wants no motion, or cannot show it, sees all lines. The left column has the seconds, so nothing is lost then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, ROW, TOP, LEFT, TEXT, BOTTOM = 860, 19, 62, 72, 88, 16
COLUMNS = 97  # that fit, with 7.83 pixels each
BEFORE, AFTER = 2.5, 12.0  # seconds in which one can read what is there before it begins, and at the end
STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
.frame { fill: #f6f8fa; stroke: #d1d9e0 }
.title { font: 600 13px system-ui, sans-serif }
.time { fill: #59636e; text-anchor: end }
.command { font-weight: 600 }
.removed { fill: #d1242f }
.added { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .frame { fill: #0d1117; stroke: #3d444d }
  .time { fill: #9198a1 }
  .removed { fill: #ff7b72 }
  .added { fill: #3fb950 }
}
@media (prefers-reduced-motion: reduce) { g { animation: none !important } }
"""
PROMPT = "$ "
CLASSES = {PROMPT: "command", "< ": "removed", "> ": "added"}


@dataclass(frozen=True)
class Line:
    """One line, and the seconds since the clock started; None: it was there before."""

    text: str
    seconds: float | None = None


def picture(title: str, told: str, lines: Sequence[Line]) -> str:
    """Return the SVG of lines in the order of their seconds; `told` is for those who cannot see it."""
    rows = [Line(part, line.seconds) for line in lines for part in _folded(line.text)]
    height = TOP + ROW * len(rows) + BOTTOM
    period = BEFORE + max([line.seconds or 0.0 for line in rows], default=0.0) + AFTER
    moments = sorted({line.seconds for line in rows if line.seconds is not None})
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" width="{WIDTH}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(told)}</desc>",
        f"<style>{STYLE}{''.join(_appearance(number, at, period) for number, at in enumerate(moments))}</style>",
        f'<rect class="frame" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="title" x="{TEXT}" y="28">{escape(title)}</text>',
        f'<text class="time" x="{LEFT}" y="28">seconds</text>',
        *_groups(rows, moments),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _appearance(number: int, at: float, period: float) -> str:
    percent = 100 * (BEFORE + at) / period
    frames = f"0%, {percent:.2f}% {{ opacity: 0 }} {percent + 0.01:.2f}%, 100% {{ opacity: 1 }}"
    return f"@keyframes a{number} {{ {frames} }}\n.a{number} {{ animation: a{number} {period:.1f}s infinite }}\n"


def _groups(rows: Sequence[Line], moments: Sequence[float]) -> Iterator[str]:
    """Yield each row, as a group that appears as a whole."""
    last = None
    for number, line in enumerate(rows):
        y = TOP + ROW * number
        name = "" if line.seconds is None else f' class="a{moments.index(line.seconds)}"'
        time = (
            "" if line.seconds in (None, last) else f'<text class="time" x="{LEFT}" y="{y}">{line.seconds:.2f}</text>'
        )
        last = line.seconds
        kind = CLASSES.get(line.text[:2])
        look = f' class="{kind}"' if kind else ""
        text = f'<text{look} x="{TEXT}" y="{y}" xml:space="preserve">{escape(line.text, quote=False)}</text>'
        yield f"<g{name}>{time}{text}</g>"


def _folded(text: str) -> list[str]:
    """Return what fits into one row each."""
    return [text[start : start + COLUMNS] for start in range(0, len(text), COLUMNS)] or [""]
