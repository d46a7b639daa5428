"""The cheapest paths between all places, from measurements between some of them."""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from statistics import median_low

Costs = dict[tuple[str, str], int]


def shortest_paths(measured: Mapping[tuple[str, str], Iterable[int]]) -> Costs:
    """Return the cost between every two different places that are connected.

    Several measurements between two places count with their median; one in a single direction counts for both.
    """
    links: dict[str, dict[str, int]] = {}
    for (start, end), values in measured.items():
        links.setdefault(start, {})[end] = median_low(values)
    for start, end in list(measured):
        links.setdefault(end, {}).setdefault(start, links[start][end])
    return {(start, end): cost for start in links for end, cost in _from(start, links).items() if end != start}


def _from(start: str, links: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return the cost of the cheapest path from one place to each reachable one."""
    found: dict[str, int] = {}
    ahead = [(0, start)]
    while ahead:
        cost, place = heappop(ahead)
        if place not in found:
            found[place] = cost
            for end, more in links[place].items():
                heappush(ahead, (cost + more, end))
    return found
