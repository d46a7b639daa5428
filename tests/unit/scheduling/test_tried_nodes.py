"""What was tried on a node is remembered for pods of one class, until the node or its nominations change."""

from random import Random
from typing import Any

import pytest

from pilotage import app
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Bools
from pilotage.framework.api.verdicts import Codes
from pilotage.offline.results import Result
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.equivalence.equivalence_entry import EquivalenceEntry
from pilotage.scheduling.equivalence.nominated_nodes import NOT_NOMINATED, NominatedNodeCache
from pilotage.testing import make_node, make_pod


def played(seed: int) -> list[Result]:
    """Fill a cluster with unimportant pods, and let bursts of more important ones evict them."""
    random = Random(seed)
    simulation = app.simulation(app.configured(None).profiles(), seed=seed)
    count = random.randrange(3, 12)
    for number in range(count):
        simulation.add(make_node(f"n{number}", cpu=random.choice(["2", "4", "8"]), memory="8Gi", pods=8))
    for number in range(count * 4):
        place: dict[str, Any] = {"node": f"n{number % count}", "priority": random.randrange(3)}
        simulation.add(make_pod(f"low-{number}", cpu=random.choice(["400m", "900m"]), memory="1Gi", **place))
    for number in range(count * 3):
        wants: dict[str, Any] = {"priority": 5 + number % 3, "host_ports": [80] if number % 5 == 0 else []}
        simulation.add(make_pod(f"high-{number}", cpu=f"{1 + number % 3}", memory=f"{1 + number % 4}Gi", **wants))
    return simulation.run()


@pytest.mark.parametrize("seed", range(25))
def test_what_is_remembered_changes_no_decision(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered = played(seed)
    assert any(result.victims for result in remembered)
    monkeypatch.setattr(Cycle, "remember", lambda *_: None)
    monkeypatch.setattr(NominatedNodeCache, "is_for", lambda *_: False)
    assert played(seed) == remembered


def test_something_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    recalled: list[str] = []
    recall, write_over, ask = Cycle.recall, NominatedNodeCache.write_over, Attempt._nominated_code

    def spy_recall(self: Cycle, what: str, slot: int) -> Any:
        found = recall(self, what, slot)
        recalled.extend([] if found is None else [what])
        return found

    def spy_write_over(self: NominatedNodeCache, codes: Codes) -> Bools:
        nominated = write_over(self, codes)
        counts["told"] += int(nominated.sum())
        return nominated

    def spy_ask(self: Attempt, entry: EquivalenceEntry, slot: int) -> int:
        code = ask(self, entry, slot)
        counts["asked"] += code != NOT_NOMINATED
        return code

    counts = {"told": 0, "asked": 0}
    monkeypatch.setattr(Cycle, "recall", spy_recall)
    monkeypatch.setattr(NominatedNodeCache, "write_over", spy_write_over)
    monkeypatch.setattr(Attempt, "_nominated_code", spy_ask)
    for seed in range(5):
        played(seed)
    assert "evictions" in recalled
    assert counts["asked"] < counts["told"]
