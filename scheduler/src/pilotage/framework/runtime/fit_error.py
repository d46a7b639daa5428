"""Why a pod fits no node, in one sentence."""

from collections.abc import Mapping

MOST_REASONS = 20  # distinct ones: reasons with node names are all different, and the message must stay short


def fit_error(total_nodes: int, reasons: Mapping[str, int]) -> str:
    """Return `0/N nodes are available: 1 a, 2 b.`, with the entries sorted as strings; if many, the most frequent."""
    found = {reason: count for reason, count in reasons.items() if count}
    shown = found if len(found) <= MOST_REASONS else _most_frequent(found)
    entries = sorted(f"{count} {reason}" for reason, count in shown.items())
    if len(found) > len(shown):
        rest = sum(found.values()) - sum(shown.values())
        entries.append(f"and {rest} for {len(found) - len(shown)} other reasons")
    text = f" {', '.join(entries)}." if entries else ""
    return f"0/{total_nodes} nodes are available:{text}"


def _most_frequent(reasons: Mapping[str, int]) -> dict[str, int]:
    ranked = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
    return dict(ranked[:MOST_REASONS])
