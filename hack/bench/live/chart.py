"""A bar chart as SVG: it is text, it scales, and it follows the reader's light or dark page."""

from collections.abc import Sequence
from html import escape

TIMES = "\N{MULTIPLICATION SIGN}"
WIDTH, LABELS, NUMBERS, ROW, BAR, TOP = 860, 400, 70, 28, 16, 66
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.note { fill: #59636e }
.one { stroke: #59636e; stroke-dasharray: 4 3 }
.more { fill: #1a7f37 }
.less { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .note { fill: #9198a1 }
  .one { stroke: #9198a1 }
  .more { fill: #3fb950 }
  .less { fill: #f0883e }
}
"""


def bars(title: str, note: str, ratios: Sequence[tuple[str, float]]) -> str:
    """One bar for each ratio, in the given order, with a line where both are the same."""
    most = max([ratio for _, ratio in ratios] + [1.0])
    unit = (WIDTH - LABELS - NUMBERS) / most
    height = TOP + ROW * len(ratios) + 14
    told = "; ".join(f"{label}: {ratio:.2f} times" for label, ratio in ratios)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" width="{WIDTH}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(told)}</desc>",
        f"<style>{STYLE}</style>",
        f'<text class="title" x="0" y="20">{escape(title)}</text>',
        f'<text class="note" x="0" y="42">{escape(note)}</text>',
        *(_bar(TOP + ROW * row, label, ratio, unit) for row, (label, ratio) in enumerate(ratios)),
        _line(LABELS + unit, height),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bar(top: int, label: str, ratio: float, unit: float) -> str:
    middle = top + BAR - 3
    kind = "more" if ratio >= 1 else "less"
    length = max(1.0, ratio * unit)
    return "\n".join(
        (
            f'<text x="{LABELS - 10}" y="{middle}" text-anchor="end">{escape(label)}</text>',
            f'<rect class="{kind}" x="{LABELS}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2"/>',
            f'<text x="{LABELS + length + 6:.1f}" y="{middle}">{ratio:.2f}{TIMES}</text>',
        )
    )


def _line(x: float, height: int) -> str:
    return f'<line class="one" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{height - 8}"/>'
