"""The places that pods have left."""

from typing import Any

import pytest

from pilotage.framework.api import vacant_places as subject
from pilotage.framework.api.stays import Stay
from pilotage.framework.api.vacant_places import VacantPlaces, lineage
from pilotage.model.pod import Pod
from pilotage.testing import make_pod

GONE = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def owned(name: str, kind: str = "Job", owner: str = "job", node: str | None = None, **fields: Any) -> Pod:
    about = {"ownerReferences": [{"kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}]}
    return make_pod(name, uid=name, node=node, metadata=about | fields.pop("metadata", {}), **fields)


def nodes(places: VacantPlaces, pod: Pod) -> list[str]:
    return [place.node for place in places.of(lineage(pod))]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(owned("a"), owned("b"), True, id="two pods of one job"),
        pytest.param(owned("a"), owned("b", owner="other"), False, id="pods of two jobs"),
        pytest.param(owned("a"), owned("b", namespace="else"), False, id="two namespaces"),
        pytest.param(
            owned("db-0", "StatefulSet"), owned("db-0", "StatefulSet"), True, id="one replica of a stateful set"
        ),
        pytest.param(owned("db-0", "StatefulSet"), owned("db-1", "StatefulSet"), False, id="two replicas of it"),
        pytest.param(
            owned("a", "ReplicaSet", "web-5d4", labels={"pod-template-hash": "5d4"}),
            owned("b", "ReplicaSet", "web-77f", labels={"pod-template-hash": "77f"}),
            True,
            id="two versions of a deployment",
        ),
        pytest.param(
            owned("a", "ReplicaSet", "web-5d4"), owned("b", "ReplicaSet", "web-77f"), False, id="two bare replica sets"
        ),
        pytest.param(
            owned("a", labels={"batch.kubernetes.io/job-completion-index": "0"}),
            owned("b", labels={"batch.kubernetes.io/job-completion-index": "1"}),
            False,
            id="two indexes of an indexed job",
        ),
        pytest.param(owned("a", "VirtualMachineInstance"), owned("b", "VirtualMachineInstance"), True, id="any owner"),
    ],
)
def test_who_is_of_one_lineage(one: Pod, other: Pod, same: bool) -> None:
    assert (lineage(one) == lineage(other)) is same


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(), id="nobody's"),
        pytest.param(owned("a", "DaemonSet"), id="a daemon"),
        pytest.param(owned("a", "Node"), id="a static pod"),
        pytest.param(
            make_pod(metadata={"ownerReferences": [{"kind": "Job", "name": "j", "uid": "u"}]}),
            id="an owner in name only",
        ),
    ],
)
def test_who_has_no_predecessor(pod: Pod) -> None:
    assert lineage(pod) is None
    places = VacantPlaces()
    places.pod_left(pod.on("n1"), 0)
    assert len(places) == 0


def test_a_pod_that_leaves_vacates_its_place_and_a_successor_takes_it() -> None:
    places, first, second = VacantPlaces(), owned("a", node="n1"), owned("b", node="n1")
    places.pod_placed(first, 0)
    assert nodes(places, second) == []
    places.pod_left(first, 1)
    assert nodes(places, second) == ["n1"]
    places.pod_placed(second, 2)
    assert nodes(places, second) == []


def test_a_successor_that_went_elsewhere_takes_the_place_of_someone_all_the_same() -> None:
    places = VacantPlaces()
    for name, node in (("a", "n1"), ("b", "n2"), ("c", "n3")):
        places.pod_left(owned(name, node=node), 0)
    places.pod_placed(owned("d", node="n2"), 1)
    assert nodes(places, owned("e")) == ["n1", "n3"]
    places.pod_placed(owned("e", node="n9"), 2)
    assert nodes(places, owned("f")) == ["n3"]


def test_a_pod_that_only_changes_vacates_nothing() -> None:
    places, pod = VacantPlaces(), owned("a", node="n1")
    places.pod_placed(pod, 0)
    places.pod_left(pod, 1)
    places.pod_placed(owned("a", node="n1", labels={"new": "label"}), 1)
    assert len(places) == 0


@pytest.mark.parametrize(
    "end",
    [
        pytest.param({"metadata": GONE}, id="on its way out"),
        pytest.param({"status": {"phase": "Failed"}}, id="failed"),
        pytest.param({"status": {"phase": "Succeeded"}}, id="succeeded"),
    ],
)
def test_the_place_of_a_pod_that_has_come_to_its_end_is_vacant_once(end: dict[str, Any]) -> None:
    places, running, ending = VacantPlaces(), owned("a", node="n1"), owned("a", node="n1", **end)
    places.pod_placed(running, 0)
    places.pod_left(running, 1)
    places.pod_placed(ending, 1)
    assert nodes(places, running) == ["n1"]
    places.pod_placed(owned("b", node="n1"), 2)
    for _ in range(2):  # it changes while it goes
        places.pod_left(ending, 3)
        places.pod_placed(ending, 3)
    places.pod_left(ending, 4)
    assert nodes(places, running) == []


def test_a_pod_that_is_on_its_way_out_at_the_start_counts_too() -> None:
    places = VacantPlaces()
    places.pod_placed(owned("a", node="n1", metadata=GONE), 0)
    assert nodes(places, owned("b")) == ["n1"]


def test_a_pod_that_was_never_bound_gives_back_what_it_took() -> None:
    places = VacantPlaces()
    places.pod_left(owned("a", node="n1"), 5)
    assumed = owned("b").on("n2")
    places.pod_placed(assumed, 6)
    assert nodes(places, assumed) == []
    places.pod_left(assumed, 7)
    (place,) = places.of(lineage(assumed))
    assert (place.node, place.since) == ("n1", 5)


def test_the_predecessor_may_go_on_changing_after_its_successor_did() -> None:
    places, ending = VacantPlaces(), owned("a", node="n1", metadata=GONE)
    places.pod_placed(ending, 0)
    successor = owned("b", node="n1")
    places.pod_placed(successor, 1)
    places.pod_left(successor, 2)
    places.pod_placed(successor, 2)
    places.pod_left(ending, 3)
    places.pod_placed(ending, 3)
    assert nodes(places, successor) == []


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_PLACES", 3)
    monkeypatch.setattr(subject, "MOST_TAKEN", 2)
    places = VacantPlaces()
    for i in range(10):
        places.pod_left(owned(f"p{i}", node=f"n{i}"), i)
    assert nodes(places, owned("a")) == ["n7", "n8", "n9"]
    for i in range(10):
        places.pod_left(owned(f"q{i}", owner=f"o{i}", node="n1"), i)
        places.pod_placed(owned(f"r{i}", owner=f"o{i}", node="n1"), i)
    assert (len(places._taken), len(places._replaced)) == (2, 2)
    assert len(places._by_lineage) == len({place.lineage for place in places._places.values()})


@pytest.mark.parametrize(
    ("stays", "vacant"),
    [
        pytest.param([], [], id="nobody was there"),
        pytest.param([Stay("a", "n1", 1)], [], id="who is there has left nothing"),
        pytest.param([Stay("a", "n1", 1, 2)], ["n1"], id="who has left did"),
        pytest.param([Stay("a", "n1", 1, 2), Stay("b", "n2", 3)], [], id="an heir takes the place, wherever it is"),
        pytest.param([Stay("b", "n2", 3), Stay("a", "n1", 1, 4)], ["n1"], id="one that was there before is no heir"),
        pytest.param([Stay("b", "n2", 2), Stay("a", "n1", 1, 2)], [], id="who goes makes room for who comes at once"),
        pytest.param([Stay("a", "n1", 1, 2), Stay("b", "n2", 3, 4)], ["n2"], id="of a chain the last is left"),
        pytest.param([Stay("a", "n1", 5, 5)], ["n1"], id="nobody leaves before having come"),
    ],
)
def test_what_stays_have_left(stays: list[Stay], vacant: list[str]) -> None:
    places, pod = VacantPlaces(), owned("p")
    places.pod_left(owned("seen", node="n9"), 0)
    places.recall(lineage(pod), stays)
    assert nodes(places, pod) == vacant
