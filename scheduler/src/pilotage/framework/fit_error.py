"""Why a pod fits nowhere, in one sentence."""

from collections.abc import Mapping


def fit_error(total_nodes: int, reasons: Mapping[str, int]) -> str:
    """Return `0/N nodes are available: 1 a, 2 b.`, with the entries sorted as texts."""
    entries = sorted(f"{count} {reason}" for reason, count in reasons.items() if count)
    told = f" {', '.join(entries)}." if entries else ""
    return f"0/{total_nodes} nodes are available:{told}"
