"""Which events wake a pod that InterPodAffinity rejected."""

from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.pods.inter_pod_affinity import InterPodAffinity
from pilotage.testing.manifests import Manifest
from pilotage.testing.objects import decode_node, make_pod

APP_W: Manifest = {"matchLabels": {"app": "w"}}
TIER: Manifest = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
BAD: Manifest = {"matchExpressions": [{"key": "app", "operator": "In"}]}


def term(selector: Manifest = APP_W, **fields: Any) -> Manifest:
    return {"topologyKey": "zone", "labelSelector": selector, **fields}


def near(*terms: Manifest) -> Manifest:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def away(*terms: Manifest) -> Manifest:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def pod_p(affinity: Manifest | None = None, app: str = "w", **fields: Any) -> Pod:
    return make_pod("p", labels={"app": app}, affinity=affinity, **fields)


def placed(node: str, app: str = "w", **fields: Any) -> Pod:
    return make_pod("placed", **{"labels": {"app": app}, "node": node, **fields})


WAITS_FOR_W = near(term())
SHUNS_W = away(term())


@pytest.mark.parametrize(
    ("affinity", "old", "new", "expected"),
    [
        pytest.param(WAITS_FOR_W, None, placed("n"), True, id="a wanted pod came"),
        pytest.param(WAITS_FOR_W, None, placed("n", app="z"), False, id="another pod came"),
        pytest.param(near(term(), term(TIER)), None, placed("n"), False, id="it meets one term of two"),
        pytest.param(SHUNS_W, None, placed("n", app="z"), False, id="a pod that came helps no anti-affinity"),
        pytest.param(None, None, placed("n"), False, id="nor a pod without terms"),
        pytest.param(WAITS_FOR_W, None, pod_p(), False, id="a pod that came is not placed"),
        pytest.param(
            WAITS_FOR_W, None, pod_p(status={"nominatedNodeName": "n"}), True, id="one with a nominated node counts"
        ),
        pytest.param(WAITS_FOR_W, placed("n", app="z"), placed("n"), True, id="a pod became one that is wanted"),
        pytest.param(WAITS_FOR_W, placed("n"), placed("n"), False, id="it was one before"),
        pytest.param(WAITS_FOR_W, placed("n"), placed("n", app="z"), False, id="it is none any more"),
        pytest.param(SHUNS_W, placed("n"), placed("n", app="z"), True, id="a pod is no more one that is shunned"),
        pytest.param(SHUNS_W, placed("n", app="z"), placed("n"), False, id="it became one that is shunned"),
        pytest.param(
            away(term(), term(TIER)),
            placed("n", labels={"app": "w", "tier": "1"}),
            placed("n", labels={"tier": "1"}),
            False,
            id="it is still shunned for another term",
        ),
        pytest.param(SHUNS_W, placed("n"), pod_p(app="z"), False, id="a pod that changed is not placed"),
        pytest.param(SHUNS_W, placed("n"), None, True, id="a shunned pod went"),
        pytest.param(away(term(), term(TIER)), placed("n"), None, True, id="one term of two will do"),
        pytest.param(SHUNS_W, placed("n", app="z"), None, False, id="another pod went"),
        pytest.param(WAITS_FOR_W, placed("n"), None, False, id="a wanted pod went"),
        pytest.param(None, placed("n", affinity=SHUNS_W), None, True, id="a pod went that shunned this one"),
        pytest.param(None, placed("n", affinity=WAITS_FOR_W), None, False, id="a pod went that wanted this one"),
        pytest.param(None, placed("n", affinity=away(term(BAD))), None, True, id="its terms cannot be read"),
        pytest.param(near(term(BAD)), None, placed("n"), True, id="this one's terms cannot be read"),
        pytest.param(near(term(BAD)), None, pod_p(), False, id="nor those, but the pod is not placed"),
        pytest.param(
            near(term(namespaceSelector={"matchLabels": {"team": "one"}})),
            None,
            placed("n"),
            False,
            id="namespaces have no labels here",
        ),
        pytest.param(near(term(namespaceSelector={})), None, placed("n", namespace="e"), True, id="all namespaces"),
    ],
)
def test_a_placed_pod_makes_the_difference(
    affinity: Manifest | None, old: Pod | None, new: Pod | None, expected: bool
) -> None:
    event = Event(Resource.ASSIGNED_POD, Action.ADD)
    assert InterPodAffinity().after_pod(pod_p(affinity), event, old, new) is expected


def test_a_pod_went_that_said_too_much_about_others_to_be_read() -> None:
    terms = [term({"matchLabels": {"app": str(i)}}) for i in range(1000)]
    event = Event(Resource.ASSIGNED_POD, Action.DELETE)
    assert InterPodAffinity().after_pod(pod_p(), event, placed("n", affinity=away(*terms)), None)


class NotGoneThrough(dict[str, str]):
    """Labels of a node that has thousands, which are looked up and not gone through for each pod that waits."""

    def __iter__(self) -> Any:
        raise AssertionError("somebody goes through all labels of a node")

    def keys(self) -> Any:
        raise AssertionError("somebody goes through all labels of a node")


@pytest.mark.parametrize(
    "affinity", [pytest.param(WAITS_FOR_W, id="affinity"), pytest.param(SHUNS_W, id="anti-affinity")]
)
def test_labels_of_a_node_are_looked_up(affinity: Manifest) -> None:
    old, new = labelled(zone="a"), labelled(zone="b")
    old.labels, new.labels = NotGoneThrough(old.labels), NotGoneThrough(new.labels)
    event = Event(Resource.NODE, Action.UPDATE_NODE_LABEL)
    assert InterPodAffinity().after_node(pod_p(affinity), event, old, new)


def labelled(**labels: str) -> Node:
    return decode_node({"metadata": {"name": "n", "labels": labels}})


@pytest.mark.parametrize(
    ("affinity", "old", "new", "expected"),
    [
        pytest.param(WAITS_FOR_W, None, labelled(zone="a"), True, id="affinity: a node of some zone came"),
        pytest.param(WAITS_FOR_W, None, labelled(), False, id="affinity: a node of no zone came"),
        pytest.param(WAITS_FOR_W, labelled(), labelled(zone="a"), True, id="affinity: a node got a zone"),
        pytest.param(WAITS_FOR_W, labelled(zone="a"), labelled(zone="b"), True, id="affinity: a node moved"),
        pytest.param(WAITS_FOR_W, labelled(zone="a"), labelled(), False, id="affinity: a node lost its zone"),
        pytest.param(WAITS_FOR_W, labelled(zone="a"), labelled(zone="a", x="y"), False, id="affinity: another label"),
        pytest.param(SHUNS_W, None, labelled(), True, id="anti-affinity: any node came"),
        pytest.param(SHUNS_W, labelled(zone="a"), labelled(), True, id="anti-affinity: a node lost its zone"),
        pytest.param(SHUNS_W, labelled(zone="a"), labelled(zone="b"), True, id="anti-affinity: a node moved"),
        pytest.param(SHUNS_W, labelled(), labelled(zone="a"), False, id="anti-affinity: a node got a zone"),
        pytest.param(SHUNS_W, labelled(zone="a"), labelled(zone="a", x="y"), False, id="anti-affinity: another label"),
        pytest.param(None, None, labelled(zone="a"), False, id="no terms"),
        pytest.param(near(term(BAD)), labelled(), labelled(), True, id="terms that cannot be read"),
    ],
)
def test_a_node_makes_the_difference(affinity: Manifest | None, old: Node | None, new: Node, expected: bool) -> None:
    event = Event(Resource.NODE, Action.ADD)
    assert InterPodAffinity().after_node(pod_p(affinity), event, old, new) is expected


@pytest.mark.parametrize(
    ("event", "hint"),
    [
        pytest.param(Event(Resource.ASSIGNED_POD, Action.ADD), ["after_pod"], id="a placed pod came"),
        pytest.param(
            Event(Resource.ASSIGNED_POD, Action.UPDATE_POD_LABEL), ["after_pod"], id="a placed pod has other labels"
        ),
        pytest.param(Event(Resource.ASSIGNED_POD, Action.DELETE), ["after_pod"], id="a placed pod went"),
        pytest.param(Event(Resource.TARGET_POD, Action.UPDATE_POD_LABEL), [None], id="the pod itself has other labels"),
        pytest.param(Event(Resource.NODE, Action.ADD), ["after_node"], id="a node came"),
        pytest.param(Event(Resource.NODE, Action.UPDATE_NODE_LABEL), ["after_node"], id="a node has other labels"),
        pytest.param(Event(Resource.NODE, Action.UPDATE_NODE_TAINT), [], id="a node has other taints"),
        pytest.param(Event(Resource.NODE, Action.DELETE), [], id="a node went"),
        pytest.param(Event(Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN), [], id="a placed pod shrank"),
    ],
)
def test_events_that_wake_a_pod(event: Event, hint: list[str | None]) -> None:
    assert [retry.hint for retry in InterPodAffinity.retry_on if retry.matches(event)] == hint
