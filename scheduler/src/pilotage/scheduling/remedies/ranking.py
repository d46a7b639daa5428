"""The order of remedies: the owner's first, then fewer and smaller changes, then more nodes."""

from collections.abc import Iterable

from pilotage.framework.api.remedies import Remedy

MOST_SHOWN = 5
ACTORS = {"wait": 0, "owner": 1, "admin": 2}
# At the expense of other pods: never among the first three.
AT_OTHERS_EXPENSE = frozenset({"raisePriority"})
NEVER_BEFORE = 3
LAST_RESORTS = frozenset({"satisfyPlugin"})  # the least specific ones


def ranked(found: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Return the best remedies, the best first, without duplicates."""
    distinct = {(each.code, each.to_do): each for each in found}.values()
    best = list({_kind(each): each for each in sorted(distinct, key=_rank, reverse=True)}.values())[::-1]
    costly = [each for each in best if each.code in AT_OTHERS_EXPENSE]
    others = [each for each in best if each.code not in AT_OTHERS_EXPENSE]
    return (*others[:NEVER_BEFORE], *costly[:1], *others[NEVER_BEFORE:])[:MOST_SHOWN]


def worth_trying(offered: Iterable[Remedy], most: int) -> list[Remedy]:
    """Return the remedies to try, the first of each kind before the second of any."""
    by_code: dict[str, int] = {}
    numbered = []
    for each in offered:
        number = by_code[each.code] = by_code.get(each.code, 0) + 1
        numbered.append((number, ACTORS[each.actor], each.code in LAST_RESORTS, each))
    return [each for *_, each in sorted(numbered, key=lambda each: each[:3])][:most]


def _kind(remedy: Remedy) -> tuple[str, ...]:
    """Return a key; of remedies with the same one, only the best is shown."""
    if remedy.steps:
        return remedy.code, *sorted(step.to_do for step in remedy.steps)
    return (remedy.code, remedy.plugin) if remedy.code == "freePods" else (remedy.code, remedy.to_do)


def _rank(remedy: Remedy) -> tuple[object, ...]:
    changes = max(1, len(remedy.steps), len(remedy.changes))
    return (
        bool(remedy.untried),
        remedy.code in LAST_RESORTS,
        ACTORS[remedy.actor],
        max(1, len(remedy.steps)),
        changes,
        remedy.size,
        -remedy.nodes,
        remedy.to_do,
    )
