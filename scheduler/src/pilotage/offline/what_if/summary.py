"""The sentences of an answer: what would happen, and what was assumed."""

from collections.abc import Iterator

from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.play import Play
from pilotage.offline.what_if.wording import counted, listed


def summary(answer: WhatIfAnswer, now: int | None, play: Play) -> str:
    """Return what would happen, in a sentence or a few."""
    return " ".join(f"{each}." for each in _sentences(answer, now, play))


def _sentences(answer: WhatIfAnswer, now: int | None, play: Play) -> Iterator[str]:
    pods, departures = answer.pods, play.departures
    if answer.fill is not None:
        yield _filled(answer)
    elif pods.asked:
        before = "" if now is None else f" (now: {now} of {sum(len(each.titles) for each in play.added)})"
        yield f"{pods.placed} of {counted(pods.asked, 'pod')} {'fits' if pods.asked == 1 else 'fit'}{before}"
    elif not departures.blocked and not departures.lost:
        yield "No pod needs another place"
    if departures.blocked:
        yield f"{counted(len(departures.blocked), 'pod')} cannot be evicted: a disruption budget allows no more"
    if departures.lost:
        number = len(departures.lost)
        yield f"{counted(number, 'pod')} would be lost: no controller replaces {'it' if number == 1 else 'them'}"
    if play.request.asks("evictions") and answer.fill is None:
        yield from _evicted(play)
    if answer.others is not None and (number := answer.others.placed_count):
        yield f"{counted(number, 'pod')} already waiting would start, too"


def _filled(answer: WhatIfAnswer) -> str:
    assert answer.fill is not None
    now, then = answer.capacity[0], answer.fill
    copies = "1 copy fits" if then.copies == 1 else f"{then.copies} copies fit"
    before = f" (now: {now.copies})" if len(answer.capacity) > 1 else ""
    return f"{copies}{before}; the next one is stopped by {then.stopped_by}"


def _evicted(play: Play) -> Iterator[str]:
    evicted = [each for each in play.departures.gone if each.for_a_pod]
    if not evicted and not play.added:
        return
    violated, text = sum(bool(each.overdrawn) for each in evicted), counted(len(evicted), "eviction")
    yield f"{text}, {violated} of them against a disruption budget" if violated else text


def assumptions(play: Play) -> Iterator[str]:
    """Yield the assumptions."""
    yield "no other pod starts or ends in the meantime, and new nodes are ready at once"
    yield from play.changes.assumptions
    if play.departures.gone:
        yield "controllers replace evicted pods; a budget allows the next eviction once the replacement has a node"
    if not play.request.asks("others"):
        yield "pods that are already waiting are left out"
    if play.world.scheduling.has_extenders:
        yield "extenders are not asked"
    if play.simulation.unserved:
        yield f"pods of other schedulers are left out: {len(play.simulation.unserved)}"
    for added in play.added:
        if added.new.left_out:
            yield f"objects of other kinds are ignored: {listed(added.new.left_out)}"
        if any(kind.claims for kind in added.new.kinds):
            yield "claims of new pods are created from their templates"
