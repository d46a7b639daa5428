"""The state of the race guard, for people: in total, by profile and by node."""

from collections.abc import Iterable, Mapping

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cache.node_holds import EVERYBODY
from pilotage.kinds.quota_accounting import quantity_text
from pilotage.scheduling.sharing.race_guard import BELIEF, Lingering, RaceGuard

MOST_NODES = 1000  # shown, by their last rejection, the newest first
HEADER = ("NODE", "REJECTIONS", "LAST", "REASON", "LEFT ALONE", "TAKEN UNSEEN", "OTHERS")


def sharing_page(guard: RaceGuard, cache: ClusterCache, checks: Mapping[str, int], now: float) -> str:
    """Return the page."""
    others = f"{guard.foreign.total}, {guard.foreign.per_minute(now)} a minute"
    return "\n".join(
        [
            f"rejected by kubelets: {_counts(guard.rejections)}",
            f"bound by other schedulers: {others}",
            f"checked again before a bind: {_counts(checks)}",
            *(_profile(name, *found.counts(now)) for name, found in sorted(guard.contention.items())),
            "",
            *_table([HEADER, *_nodes(guard, cache, now)]),
            "",
        ]
    )


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(numbers.items())) or "none"


def _profile(name: str, binds: int, rejections: int) -> str:
    return f"profile {name}: {rejections} rejections of {binds} binds in the last 10 minutes"


def _nodes(guard: RaceGuard, cache: ClusterCache, now: float) -> Iterable[tuple[str, ...]]:
    rejecting = sorted(guard.records, key=lambda node: guard.records[node].last, reverse=True)
    for node in [*rejecting, *(node for node in guard.foreign.nodes() if node not in guard.records)][:MOST_NODES]:
        yield node, *_rejections(guard, node, now), *_held(cache, node, now), _others(guard, node, now)


def _rejections(guard: RaceGuard, node: str, now: float) -> tuple[str, str, str]:
    record = guard.records.get(node)
    return ("0", "-", "-") if record is None else (str(record.rejections), _ago(now - record.last), record.reason)


def _held(cache: ClusterCache, node: str, now: float) -> tuple[str, str]:
    holds = cache.holds.on(node)
    ends = [
        cache.holds.until(hold) or 0.0 for hold in holds if hold.whom != BELIEF and not isinstance(hold.whom, Lingering)
    ]
    by_all = "by all" if any(hold.whom is EVERYBODY for hold in holds) else "by some"
    believed = cache.believed(node).items()
    taken = ", ".join(f"{resource} {quantity_text(resource, amount)}" for resource, amount in believed)
    return f"{by_all}, {max(ends) - now:.0f}s" if ends else "-", taken or "-"


def _others(guard: RaceGuard, node: str, now: float) -> str:
    lately = guard.foreign.at(node)
    return "-" if lately is None else f"{lately.scheduler} {_ago(now - lately.last)}"


def _ago(seconds: float) -> str:
    return f"{max(0.0, seconds):.0f}s ago"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
