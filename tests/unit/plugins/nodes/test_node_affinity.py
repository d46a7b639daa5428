from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.config.faults import Fault, Stage
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import SKIP, OnlyNodes, PluginFailed, Rejection
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.node_affinity import NodeAffinity
from pilotage.testing import FakeCluster, Manifest, filter_all, make_node, make_pod, raw_scores, score_all

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NOT_WANTED = Rejection("node(s) didn't match Pod's node affinity/selector", preemption_helps=False)
NOT_ADDED = Rejection("node(s) didn't match scheduler-enforced node affinity", preemption_helps=False)
CONFLICT = Rejection("pod affinity terms conflict", preemption_helps=False)
LABELS_CHANGED = Event(Resource.NODE, Action.UPDATE_NODE_LABEL)
ARGS = ("profiles", 0, "pluginConfig", 1, "args")


def asks(text: str) -> Manifest:
    """Read a condition like "zone In a b"."""
    key, operator, *values = text.split()
    return {"key": key, "operator": operator, "values": values}


def term(*conditions: str) -> Manifest:
    """Return a term of conditions on labels and, with an @, on fields."""
    labels = [asks(text) for text in conditions if text[0] != "@"]
    return {"matchExpressions": labels, "matchFields": [asks(text[1:]) for text in conditions if text[0] == "@"]}


def required(*terms: Manifest) -> Manifest:
    return {REQUIRED: {"nodeSelectorTerms": list(terms)}}


def preferred(**terms: Manifest) -> Manifest:
    """Return preferred terms; the names are their weights: w2=term(...)."""
    return {PREFERRED: [{"weight": int(name[1:]), "preference": each} for name, each in terms.items()]}


def pod_with(affinity: Manifest, **fields: Any) -> Pod:
    return make_pod(affinity={"nodeAffinity": affinity}, **fields)


def plugin(added: Manifest | None = None) -> NodeAffinity:
    return NodeAffinity.of({"addedAffinity": added})


def cluster(**labels: Manifest) -> FakeCluster:
    return FakeCluster(nodes=[make_node(name, labels=each) for name, each in labels.items()])


THREE = {"n1": {"zone": "a", "gen": "07"}, "n2": {"zone": "b", "gen": "x"}, "n3": {}}


def fitting(pod: Pod, added: Manifest | None = None) -> str:
    """Return the names of the nodes that fit; all others must be rejected by the pod's own demands."""
    verdicts = filter_all(plugin(added), cluster(**THREE), pod)
    assert isinstance(verdicts, dict)
    assert set(verdicts.values()) <= {None, NOT_WANTED}
    return " ".join(name for name, rejection in verdicts.items() if rejection is None)


# --------------------------------------------------------------------------------------------------------------- filter


@pytest.mark.parametrize(
    ("pod", "nodes"),
    [
        pytest.param(pod_with(required(term("zone NotIn a"))), "n2 n3", id="NotIn takes nodes without the label"),
        pytest.param(pod_with(required(term("gen Gt 6"))), "n1", id="07 is more than 6"),
        pytest.param(pod_with(required(term("gen Lt 8"))), "n1", id="what is no number, or absent, is not less"),
        pytest.param(pod_with(required(term("gen DoesNotExist"))), "n3", id="DoesNotExist"),
        pytest.param(pod_with(required()), "", id="required terms without a term"),
        pytest.param(pod_with(required(term())), "", id="required terms with an empty one"),
        pytest.param(pod_with(required(term("@metadata.name In n1 n2"))), "", id="two names in one term"),
        pytest.param(
            pod_with(required(term("@metadata.name In n1"), term("@metadata.name In n2"))), "n1 n2", id="either name"
        ),
        pytest.param(
            pod_with(required(term("@metadata.name In n1"), term("zone In b"))), "n1 n2", id="a name or a label"
        ),
        pytest.param(make_pod(spec={"nodeSelector": {}}), "n1 n2 n3", id="an empty nodeSelector"),
        pytest.param(make_pod(node_selector={"zone": "a"}), "n1", id="a subset of a node's labels"),
        pytest.param(make_pod(node_selector={"zone": "a", "disk": "ssd"}), "", id="more than a node's labels"),
        pytest.param(pod_with(required(term("zone In a"), term("zone In b"))), "n1 n2", id="terms are alternatives"),
        pytest.param(pod_with(required(term("zone In a", "gen In x"))), "", id="conditions of a term are not"),
        pytest.param(pod_with(required(term("gen Exists")), node_selector={"zone": "b"}), "n2", id="both are needed"),
        pytest.param(pod_with(required(term("zone In {"), term("zone In b"))), "n2", id="an invalid term alone is out"),
    ],
)
def test_filter(pod: Pod, nodes: str) -> None:
    assert fitting(pod) == nodes


def test_a_profile_can_demand_more() -> None:
    verdicts = filter_all(plugin(required(term("zone In a"))), cluster(n1={"zone": "a"}, n2={"zone": "b"}), make_pod())
    assert verdicts == {"n1": None, "n2": NOT_ADDED}


def test_what_the_profile_demands_is_named_first() -> None:
    verdicts = filter_all(
        plugin(required(term("zone In a"))),
        cluster(n1={"zone": "a"}, n2={"zone": "b"}, n3={"zone": "a", "disk": "ssd"}),
        make_pod(node_selector={"disk": "ssd"}),
    )
    assert verdicts == {"n1": NOT_WANTED, "n2": NOT_ADDED, "n3": None}


@pytest.mark.parametrize(
    ("pod", "answer"),
    [
        pytest.param(make_pod(), SKIP, id="nothing is asked"),
        pytest.param(pod_with(preferred(w1=term("a Exists"))), SKIP, id="wishes alone do not filter"),
        pytest.param(make_pod(spec={"nodeSelector": {}}), None, id="an empty nodeSelector"),
        pytest.param(make_pod(node_selector={"a": "b"}), None, id="a nodeSelector"),
        pytest.param(pod_with(required()), None, id="no term"),
        pytest.param(
            pod_with(required(term("@metadata.name In n1 n2"))), OnlyNodes(frozenset({"n1", "n2"})), id="two names"
        ),
        pytest.param(
            pod_with(required(term("@metadata.name In n1", "@metadata.name In n2"))), CONFLICT, id="two names at once"
        ),
        pytest.param(
            pod_with(required(term("@metadata.name In n1"), term("@metadata.name In n2"))),
            OnlyNodes(frozenset({"n1", "n2"})),
            id="names of all terms",
        ),
        pytest.param(pod_with(required(term("@metadata.name In n1"), term("zone In b"))), None, id="not all name"),
        pytest.param(pod_with(required(term("@metadata.name NotIn n1"))), None, id="a name that is not wanted"),
    ],
)
def test_before_any_node(pod: Pod, answer: object) -> None:
    assert plugin().pre_filter(cluster(**THREE).cycle(pod), pod) == answer


def test_a_profile_that_demands_something_looks_at_every_pod() -> None:
    pod = make_pod()
    assert plugin(required(term("a Exists"))).pre_filter(cluster().cycle(pod), pod) is None
    assert plugin({PREFERRED: []}).pre_filter(cluster().cycle(pod), pod) == SKIP


# --------------------------------------------------------------------------------------------------------------- scores


def test_matching_terms_add_up() -> None:
    wishes = preferred(
        w2=term("foo In bar"), w4=term("key In value"), w5=term("foo In bar", "key In value", "az In az1")
    )
    some = cluster(n1={"foo": "bar"}, n5={"foo": "bar", "key": "value", "az": "az1"}, n2={"key": "value"})
    assert raw_scores(plugin(), some, pod_with(wishes)) == {"n1": 2, "n5": 11, "n2": 4}
    assert score_all(plugin(), some, pod_with(wishes)) == {"n1": 18, "n5": 100, "n2": 36}


def test_wishes_of_the_profile_count_too() -> None:
    some = cluster(n1={"foo": "bar"}, n2={"key": "value"}, n3={"foo": "bar", "key": "value"})
    added, own = preferred(w3=term("key In value")), preferred(w2=term("foo In bar"))
    assert score_all(plugin(added), some, pod_with(own)) == {"n1": 40, "n2": 60, "n3": 100}
    assert score_all(plugin(added), some, make_pod()) == {"n1": 0, "n2": 100, "n3": 100}


@pytest.mark.parametrize(
    ("added", "pod", "scores"),
    [
        pytest.param(None, make_pod(), SKIP, id="no wish at all"),
        pytest.param(None, pod_with(required(term("a Exists"))), SKIP, id="a demand is no wish"),
        pytest.param({PREFERRED: []}, make_pod(), SKIP, id="an empty list of the profile"),
        pytest.param(None, pod_with({PREFERRED: []}), {"n1": 0}, id="an empty list of the pod"),
        pytest.param(None, pod_with(preferred(w9=term())), {"n1": 0}, id="an empty wish"),
        pytest.param(preferred(w0=term("a Exists")), make_pod(), {"n1": 0}, id="a wish of the profile without weight"),
    ],
)
def test_without_wishes(added: Manifest | None, pod: Pod, scores: object) -> None:
    assert score_all(plugin(added), cluster(n1={"a": "b"}), pod) == scores


def test_a_wish_that_makes_no_sense_is_an_error() -> None:
    some, pod = cluster(n1={}), pod_with(preferred(w1=term("a Exists b")))
    with pytest.raises(PluginFailed) as failed:
        plugin().pre_score(some.cycle(pod), pod, some.nodes)
    detail = "values set must be empty for exists and does not exist"
    assert str(failed.value) == f'[0].matchExpressions[0].values: Invalid value: ["b"]: {detail}'


# ---------------------------------------------------------------------------------------------------------------- hints


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        pytest.param(None, {"zone": "a", "disk": "ssd"}, True, id="a new node that matches"),
        pytest.param(None, {"zone": "a"}, False, id="a new node that does not match the pod"),
        pytest.param(None, {"disk": "ssd"}, False, id="a new node that does not match the profile"),
        pytest.param({"zone": "a"}, {"zone": "a", "disk": "ssd"}, True, id="a node came to match"),
        pytest.param(
            {"zone": "a", "disk": "ssd"}, {"zone": "a", "disk": "ssd", "x": "y"}, False, id="it matched before"
        ),
        pytest.param({"disk": "ssd"}, {"zone": "a", "disk": "ssd"}, False, id="it matched the pod, not the profile"),
    ],
)
def test_a_changed_node_helps(before: Manifest | None, after: Manifest, helps: bool) -> None:
    old = None if before is None else make_node(labels=before)
    pod = make_pod(node_selector={"disk": "ssd"})
    added = plugin(required(term("zone In a")))
    assert added.came_to_match(pod, LABELS_CHANGED, old, make_node(labels=after)) is helps


# ------------------------------------------------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("given", "dumped"),
    [
        pytest.param({}, {}, id="nothing by default"),
        pytest.param({"addedAffinity": None}, {}, id="null is nothing"),
        pytest.param({"addedAffinity": {}}, {"addedAffinity": {}}, id="an empty affinity stays"),
        pytest.param({"addedAffinity": {REQUIRED: None, PREFERRED: []}}, {"addedAffinity": {}}, id="empty parts go"),
        pytest.param(
            {"addedAffinity": {REQUIRED: {}}},
            {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": None}}},
            id="a list of terms is written even when it is absent",
        ),
        pytest.param(
            {"addedAffinity": {**required(term("a In x b", "c Exists"), {}), PREFERRED: [{}]}},
            {
                "addedAffinity": {
                    REQUIRED: {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": "a", "operator": "In", "values": ["x", "b"]},
                                    {"key": "c", "operator": "Exists"},
                                ]
                            },
                            {},
                        ]
                    },
                    PREFERRED: [{"weight": 0, "preference": {}}],
                }
            },
            id="terms are written as kube-scheduler writes them",
        ),
    ],
)
def test_arguments_as_kube_scheduler_writes_them(given: Manifest, dumped: Manifest) -> None:
    arguments = NodeAffinity.read_arguments(given, ARGS)
    assert (arguments.value, arguments.faults) == (dumped, ())


def test_everything_that_is_wrong_with_the_selectors_is_told_with_its_place() -> None:
    wrong = required(term("a Inn x"), term("@a In a b")) | preferred(w3=term("k Exists a"), w0=term("k Exists a"))
    prefix = "profiles[0].pluginConfig[1].args.addedAffinity."
    assert [fault.text for fault in faults(wrong)] == [
        f'{prefix}{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Inn": '
        'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        f'{prefix}{REQUIRED}.nodeSelectorTerms[1].matchFields[0].values: Invalid value: ["a","b"]: '
        "must have one element",
        f'{prefix}{PREFERRED}[0].matchExpressions[0].values: Invalid value: ["a"]: '
        "values set must be empty for exists and does not exist",
    ]
    assert {fault.stage for fault in faults(wrong)} == {Stage.VALIDATION}
    assert faults(wrong)[0].at == (*ARGS, "addedAffinity", REQUIRED, "nodeSelectorTerms", 0)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        pytest.param({}, "null", id="none"),
        pytest.param({"values": None}, "null", id="null"),
        pytest.param({"values": []}, "[]", id="an empty list, which only a file can have"),
    ],
)
def test_values_are_told_as_they_were_written(values: Manifest, told: str) -> None:
    term = {
        "matchExpressions": [{"key": "a", "operator": "In", **values}],
        "matchFields": [{"operator": "In", **values}],
    }
    expression, field = (fault.text for fault in faults(required(term)))
    assert f"matchExpressions[0].values: Invalid value: {told}: for 'in'" in expression
    assert field.endswith(f"matchFields[0].values: Invalid value: {told}: must have one element")


@pytest.mark.parametrize(
    ("added", "stage"),
    [
        pytest.param({"foo": {}}, Stage.STRICTNESS, id="an unknown field"),
        pytest.param({REQUIRED: {"nodeSelectorTerms": {}}}, Stage.DECODING, id="a map instead of a list"),
        pytest.param({PREFERRED: [{"weight": "a"}]}, Stage.DECODING, id="a weight that is no number"),
        pytest.param({PREFERRED: [{"weight": 3_000_000_000}]}, Stage.DECODING, id="a weight that is too large"),
        pytest.param(required({"matchExpressions": [{"key": 1}]}), Stage.DECODING, id="a key that is no text"),
    ],
)
def test_what_cannot_be_read_is_refused(added: Manifest, stage: Stage) -> None:
    (fault,) = faults(added)
    assert fault.stage is stage


def faults(added: Manifest) -> tuple[Fault, ...]:
    return NodeAffinity.read_arguments({"addedAffinity": added}, ARGS).faults


# --------------------------------------------------------------------------------------------------- both forms agree

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2", "x"]), max_size=3)
TERMS = st.lists(
    st.sampled_from(["a In 1 2", "a NotIn x", "b Exists", "c DoesNotExist", "b Gt 1", "@metadata.name In n1"]),
    max_size=3,
).map(lambda conditions: term(*conditions))
DEMANDS = st.lists(TERMS, max_size=3).map(lambda terms: required(*terms))
WISHES = st.lists(st.tuples(st.integers(1, 100), TERMS), max_size=3).map(
    lambda terms: {PREFERRED: [{"weight": weight, "preference": each} for weight, each in terms]}
)
AFFINITIES = st.builds(dict, st.just({}) | DEMANDS).flatmap(lambda demand: WISHES.map(lambda wish: demand | wish))


@given(st.lists(LABELS, min_size=1, max_size=6), st.none() | AFFINITIES, AFFINITIES, LABELS)
def test_both_forms_agree(
    labels: list[Manifest], added: Manifest | None, affinity: Manifest, node_selector: Manifest
) -> None:
    some = cluster(**{f"n{i}": each for i, each in enumerate(labels)})
    pod = pod_with(affinity, node_selector=node_selector)
    filter_all(plugin(added), some, pod)
    score_all(plugin(added), some, pod)


# ------------------------------------------------------------------------------------------------- what people are told


MANY = [f"z{number}" for number in range(9)]


@pytest.mark.parametrize(
    ("pod", "told"),
    [
        pytest.param(make_pod(node_selector={"zone": "b"}), "wants zone = b, has a", id="another label"),
        pytest.param(make_pod(node_selector={"disk": "ssd"}), "wants disk = ssd, has none", id="no label"),
        pytest.param(
            make_pod(node_selector={"gen": "07", "zone": "b"}), "wants zone = b, has a", id="the one that does not hold"
        ),
        pytest.param(pod_with(required(term("zone In b c"))), "wants zone in (b, c), has a", id="none of several"),
        pytest.param(pod_with(required(term("zone NotIn a"))), "wants zone != a, has a", id="one that is unwanted"),
        pytest.param(pod_with(required(term("disk Exists"))), "wants the label disk", id="one that must be there"),
        pytest.param(pod_with(required(term("zone DoesNotExist"))), "wants no label zone", id="one that must not"),
        pytest.param(pod_with(required(term("gen Gt 8"))), "wants gen above 8, has 07", id="a number"),
        pytest.param(
            pod_with(required(term("zone In a", "disk Exists"))),
            "wants the label disk",
            id="the rest of the term holds",
        ),
        pytest.param(
            pod_with(required(term("zone In b"), term("disk Exists"))),
            "wants the label disk; or wants zone = b, has a",
            id="each term has its own",
        ),
        pytest.param(
            pod_with(required(*(term(f"{zone} Exists") for zone in MANY))),
            "wants the label z0; or wants the label z1; or wants the label z2; or 6 more",
            id="of many terms a few",
        ),
        pytest.param(
            pod_with(required(term(f"zone In {' '.join(MANY)}"))),
            "wants zone in (z0, z1, z2, 6 more), has a",
            id="values",
        ),
        pytest.param(
            pod_with(required(term("@metadata.name In n2"))), "wants metadata.name = n2", id="another node by name"
        ),
        pytest.param(
            pod_with(required(term("zone Beside b"))), "no term of the affinity can match any node", id="nonsense"
        ),
        pytest.param(pod_with(required(term("zone In a"))), "", id="it matches"),
    ],
)
def test_which_condition_does_not_hold(pod: Pod, told: str) -> None:
    world = cluster(n1=THREE["n1"])
    assert plugin().remark(world.cycle(pod), pod, world.nodes[0]) == told


def test_which_condition_of_the_profile_does_not_hold() -> None:
    world, pod = cluster(n1=THREE["n1"]), make_pod()
    told = plugin(required(term("zone In b"))).remark(world.cycle(pod), pod, world.nodes[0])
    assert told == "the profile wants zone = b, has a"
