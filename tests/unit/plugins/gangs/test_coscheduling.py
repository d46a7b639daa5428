"""What is known of a gang, when it may be tried, and who of a gang waits for whom."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import WAITING_FOR_GROUP, NoRoom, Rejection, Skip, Verdicts, Wait
from pilotage.framework.api.waiting import WaitingPods
from pilotage.kinds.pod_groups import NativePodGroup, PodGroup
from pilotage.model.gangs import BY_GROUP, BY_LABELS, MIN_LABEL, NAME_LABEL, NATIVE, GangName, gang_of
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.queue.queued_pod import QueuedPod
from pilotage.testing import FakeCluster, handle_of, make_node, make_pod
from pilotage.testing.gangs import make_group, make_member, make_members, make_native_group

GANG = GangName(BY_GROUP, "default", "gang")
AT = ("profiles", 0, "pluginConfig", 0, "args")


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def knowing(cluster: FakeCluster, waiting: WaitingPods | None = None, **arguments: Any) -> Coscheduling:
    """Return the plugin as the scheduler uses it."""
    plugin = Coscheduling.of(arguments)
    plugin.start(handle_of(cluster, waiting=waiting))
    cluster.cache.follow(plugin)
    plugin._clock = Time()
    return plugin


def test_a_pod_names_its_gang_in_one_of_three_ways() -> None:
    native = make_pod("a", spec={"schedulingGroup": {"podGroupName": "native"}})
    by_labels = make_pod("a", labels={NAME_LABEL: "by-labels", MIN_LABEL: "3"})
    found = [gang_of(pod) for pod in (make_member("a"), native, by_labels, make_pod("a", labels={"app": "x"}))]
    names = (GANG, GangName(NATIVE, "default", "native"), GangName(BY_LABELS, "default", "by-labels"), None)
    assert found == list(names)


@pytest.mark.parametrize(
    ("arguments", "place", "text"),
    [
        pytest.param({"permitWaitingTimeSeconds": -1}, "permitWaitingTimeSeconds", "must be greater than 0", id="wait"),
        pytest.param({"podGroupBackoffSeconds": -1}, "podGroupBackoffSeconds", "must be greater than 0", id="back-off"),
        pytest.param({"podGroupRejectPercentage": 101}, "podGroupRejectPercentage", "between 0 and 100", id="too much"),
        pytest.param(
            {"podGroupRejectPercentage": -1}, "podGroupRejectPercentage", "between 0 and 100", id="too little"
        ),
    ],
)
def test_wrong_arguments_are_told(arguments: dict[str, int], place: str, text: str) -> None:
    (fault,) = Coscheduling.read_arguments(arguments, AT).faults
    assert text in fault.text
    assert place in str(fault.at)


def test_nothing_is_wrong_with_the_smallest_arguments() -> None:
    arguments = {"permitWaitingTimeSeconds": 0, "podGroupBackoffSeconds": 0, "podGroupRejectPercentage": 0}
    assert Coscheduling.read_arguments(arguments, AT).faults == ()


# ----------------------------------------------------------------------------------------------------- who is missing


@pytest.mark.parametrize(
    ("minimum", "placed", "missing"),
    [
        pytest.param(3, 0, 3, id="nobody is placed"),
        pytest.param(3, 2, 1, id="some are"),
        pytest.param(3, 4, -1, id="more than enough are"),
        pytest.param(1, 0, None, id="a gang of one is a pod like any other"),
        pytest.param(0, 0, None, id="so is one that names no number"),
    ],
)
def test_how_many_are_missing(minimum: int, placed: int, missing: int | None) -> None:
    cluster = FakeCluster([make_node("n1")], make_members(placed, node="n1"), [make_group(minimum=minimum)])
    assert knowing(cluster).missing(GANG, make_member("new")) == missing


def test_pods_that_leave_are_missing_again() -> None:
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    cluster = FakeCluster([make_node("n1")], make_members(2, node="n1"), [make_group(minimum=2)])
    plugin = knowing(cluster)
    cluster.cache.remove_pod(cluster.cache.pods()[0].uid)
    assert plugin.missing(GANG, make_member("new")) == 1
    (last,) = cluster.cache.pods()
    cluster.cache.put_pod(make_member(last.name, uid=last.uid, node="n1", metadata=leaving))
    assert plugin.missing(GANG, make_member("new")) == 2
    cluster.cache.remove_pod(last.uid)
    assert len(plugin._records) == 0


def test_a_gang_of_kubernetes_itself() -> None:
    cluster = FakeCluster([make_node("n1")], objects=[make_native_group("a", 4), make_native_group("b", None)])
    plugin = knowing(cluster)
    pods = {name: make_pod(name, spec={"schedulingGroup": {"podGroupName": name}}) for name in "abc"}
    missing = {name: plugin.missing(GangName(NATIVE, "default", name), pod) for name, pod in pods.items()}
    assert missing == {"a": 4, "b": None, "c": None}
    assert [plugin.pre_filter(cluster.cycle(pod), pod) for pod in pods.values()] == [
        Skip(),
        Skip(),
        Rejection(
            'waiting for pods\'s pod group "c" to appear in scheduling queue',
            preemption_helps=False,
            held_as=WAITING_FOR_GROUP,
        ),
    ]


@pytest.mark.parametrize(
    ("said", "missing"),
    [("3", 3), ("03", 3), ("0", None), ("1", None), ("999999", 999999)],
)
def test_a_gang_that_only_labels_define(said: str, missing: int | None) -> None:
    plugin, pod = knowing(FakeCluster()), make_pod("a", labels={NAME_LABEL: "g", MIN_LABEL: said})
    gang = gang_of(pod)
    assert gang is not None
    assert plugin.missing(gang, pod) == missing


@pytest.mark.parametrize("said", ["-3", "many", "", "1000000", "٣"])
def test_a_label_that_is_no_number_is_told(said: str) -> None:
    cluster, pod = FakeCluster([make_node("n1")]), make_pod("a", labels={NAME_LABEL: "g", MIN_LABEL: said})
    rejection = knowing(cluster).pre_filter(cluster.cycle(pod), pod)
    assert isinstance(rejection, Rejection)
    assert rejection.message == (
        "the label pod-group.pilotage.dev/min-available must be the number of pods that default/g needs, "
        "and is not a whole number"
    )


# ------------------------------------------------------------------------------------------------------- what counts


def condition(kind: str, status: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status}]}


REACHED, NOT_REACHED = condition("QuorumReached", "True"), condition("QuorumReached", "False")


@pytest.mark.parametrize(
    ("policy", "placed", "status", "missing"),
    [
        pytest.param(None, 2, REACHED, 1, id="without a policy: who is placed"),
        pytest.param("WaitingAndPlaced", 2, REACHED, 1, id="the same by its name"),
        pytest.param("OnlyWaiting", 2, REACHED, 3, id="only who waits"),
        pytest.param("OnlyWaiting", 4, REACHED, 3, id="only who waits, though enough are placed"),
        pytest.param("OnceSatisfied", 2, {}, 1, id="not satisfied yet: who is placed"),
        pytest.param("OnceSatisfied", 0, REACHED, 0, id="the operator says that it was"),
        pytest.param("OnceSatisfied", 1, {"phase": "Running"}, 0, id="a controller says that it runs"),
        pytest.param("OnceSatisfied", 0, {"phase": "Finished"}, 0, id="a controller says that it is finished"),
        pytest.param(
            "OnceSatisfied",
            1,
            {"phase": "Scheduling", "running": 1, "succeeded": 1, "failed": 1},
            0,
            id="a controller has counted enough that ran",
        ),
        pytest.param(
            "OnceSatisfied", 1, {"phase": "Scheduling", "running": 1, "failed": 1}, 2, id="and here too few of them"
        ),
        pytest.param(
            "OnceSatisfied", 0, {"phase": "Running", **NOT_REACHED}, 3, id="the operator has started it again since"
        ),
    ],
)
def test_what_counts_towards_the_quorum(
    policy: str | None, placed: int, status: dict[str, Any], missing: int | None
) -> None:
    group = make_group(minimum=3, policy=policy, status=status)
    plugin = knowing(FakeCluster([make_node("n1")], make_members(placed, node="n1"), [group]))
    assert plugin.missing(GANG, make_member("new")) == missing


@pytest.mark.parametrize(
    ("status", "missing"),
    [
        ({}, 2),
        (condition("PodGroupInitiallyScheduled", "False"), 2),
        (condition("PodGroupInitiallyScheduled", "True"), 0),
    ],
    ids=["nothing is said", "it waits", "it was scheduled"],
)
def test_a_gang_of_kubernetes_itself_that_was_satisfied(status: dict[str, Any], missing: int) -> None:
    group = make_native_group(policy="OnceSatisfied", status=status)
    pod = make_pod("a", spec={"schedulingGroup": {"podGroupName": "gang"}})
    assert knowing(FakeCluster(objects=[group])).missing(GangName(NATIVE, "default", "gang"), pod) == missing


@pytest.mark.parametrize("policy", ["onlywaiting", "only-waiting", ""])
@pytest.mark.parametrize(
    ("group", "pod"),
    [
        pytest.param(make_group, make_member("a"), id="scheduling.x-k8s.io"),
        pytest.param(
            make_native_group, make_pod("a", spec={"schedulingGroup": {"podGroupName": "gang"}}), id="scheduling.k8s.io"
        ),
    ],
)
def test_a_policy_that_there_is_not_is_told(group: Callable[..., Any], pod: Pod, policy: str) -> None:
    cluster = FakeCluster([make_node("n1")], objects=[group(policy=policy)])
    plugin, gang = knowing(cluster), gang_of(pod)
    assert gang is not None
    assert plugin.missing(gang, pod) is None
    assert plugin.pre_filter(cluster.cycle(pod), pod) == Rejection(
        f"the annotation pod-group.pilotage.dev/match-policy of PodGroup default/gang is {policy!r}; "
        "it must be one of WaitingAndPlaced, OnlyWaiting, OnceSatisfied",
        preemption_helps=False,
        held_as=WAITING_FOR_GROUP,
    )


def test_a_batch_of_its_own_has_no_use_for_what_others_of_the_group_have() -> None:
    group = make_group(minimum=2, policy="OnlyWaiting", minResources={"cpu": "4"})
    plugin = knowing(FakeCluster([make_node("n1", cpu=4)], [make_member("p", cpu=1, node="n1")], [group]))
    short = plugin.shortage(GANG, make_member("a"))
    assert short is not None
    assert short.message.startswith("resource gap: cpu: 1 (wants ")
    too_few = plugin.objection(GANG, make_member("a"), 1, 0)
    assert too_few is not None
    assert too_few.message.endswith("current pods number: 1, minMember of group: 2")


# ------------------------------------------------------------------------------------------------ may it be tried now


@pytest.mark.parametrize(
    ("minimum", "waiting", "gated", "text"),
    [
        pytest.param(2, 3, 0, None, id="enough wait"),
        pytest.param(
            4,
            3,
            0,
            "pre-filter pod gang-0 cannot find enough sibling pods, current pods number: 3, minMember of group: 4",
            id="too few exist",
        ),
        pytest.param(2, 2, 1, None, id="one of three is gated and two are enough"),
        pytest.param(
            3,
            2,
            1,
            "pre-filter pod gang-0 cannot proceed due to gated pods in the same PodGroup",
            id="one of three is gated and all are needed",
        ),
        pytest.param(
            2,
            1,
            2,
            "pre-filter pod gang-0 cannot proceed due to gated pods in the same PodGroup",
            id="two of three are gated and two are needed",
        ),
    ],
)
def test_objection(minimum: int, waiting: int, gated: int, text: str | None) -> None:
    plugin = knowing(FakeCluster([make_node("n1")], objects=[make_group(minimum=minimum)]))
    objection = plugin.objection(GANG, make_member("gang-0"), waiting, gated)
    assert (objection and objection.message) == text


@pytest.mark.parametrize(
    ("wanted", "own", "text"),
    [
        pytest.param({"cpu": "6"}, False, None, id="what is free is enough"),
        pytest.param(
            {"cpu": "10"}, False, "resource gap: cpu: 3 (wants 10, 7 free) for PodGroup default/gang", id="it is not"
        ),
        pytest.param({"cpu": "8"}, True, None, id="what its own pods have counts as free"),
        pytest.param(
            {"cpu": "8"}, False, "resource gap: cpu: 1 (wants 8, 7 free) for PodGroup", id="what others have does not"
        ),
        pytest.param(
            {"cpu": "7500m"},
            False,
            "resource gap: cpu: 500m (wants 7500m, 7 free)",
            id="parts of a core are told as such",
        ),
        pytest.param(
            {"example.com/gpu": "1"}, False, "resource gap: example.com/gpu: 1 (wants 1, 0 free)", id="nobody has any"
        ),
        pytest.param({"cpu": "many"}, False, "resource gap: minResources is invalid", id="nonsense"),
    ],
)
def test_resources_that_a_group_wants_to_see_free(wanted: dict[str, str], own: bool, text: str | None) -> None:
    placed = make_member("p", cpu=1, node="n1") if own else make_pod("p", cpu=1, node="n1")
    group = make_group(minimum=2, minResources=wanted)
    plugin = knowing(FakeCluster([make_node("n1", cpu=4), make_node("n2", cpu=4)], [placed], [group]))
    objection = plugin.shortage(GANG, make_member("a"))
    assert (objection is None) == (text is None)
    assert objection is None or objection.message.startswith(text or "")


def test_too_many_pods_for_all_nodes_together() -> None:
    plugin = knowing(FakeCluster([make_node("n1", pods=1)], objects=[make_group(minimum=3, minResources={})]))
    objection = plugin.shortage(GANG, make_member("a"))
    assert objection is not None
    assert objection.message == "resource gap: pods: 2 (wants 3, 1 free) for PodGroup default/gang"


def test_a_group_that_failed_backs_off_if_it_is_told_to() -> None:
    cluster = FakeCluster([make_node("n1")], objects=[make_group(minimum=3)])
    plugin, pods = knowing(cluster, podGroupBackoffSeconds=1), make_members(3)
    plugin.gang_rejected(GANG, pods, "why")
    objection = plugin.objection(GANG, pods[0], 3, 0)
    assert objection is not None
    assert (objection.message, objection.pending) == ("podGroup default/gang failed recently", True)
    plugin._clock.now += 1  # type: ignore[attr-defined]
    assert plugin.objection(GANG, pods[0], 3, 0) is None


def test_a_pod_without_its_group_is_told_so() -> None:
    cluster = FakeCluster([make_node("n1")], objects=[make_group("other")])
    plugin, pod = knowing(cluster), make_member("a")
    rejection = plugin.pre_filter(cluster.cycle(pod), pod)
    assert isinstance(rejection, Rejection)
    assert rejection.message == "PodGroup not found: default/gang; create it, or remove the label from the pod"
    cluster.cache.objects.put(make_group())
    assert plugin.pre_filter(cluster.cycle(pod), pod) == Skip()
    assert plugin.post_filter(cluster.cycle(pod), pod, Verdicts.all_fit(1)) == NoRoom("", keeps_nomination=True)


@pytest.mark.parametrize(
    ("kind", "pod"),
    [
        pytest.param(PodGroup, make_member("a"), id="a PodGroup"),
        pytest.param(
            NativePodGroup, make_pod("a", spec={"schedulingGroup": {"podGroupName": "gang"}}), id="one of Kubernetes"
        ),
    ],
)
def test_a_pod_whose_group_cannot_be_understood_is_told_why(kind: type[PodGroup | NativePodGroup], pod: Pod) -> None:
    cluster = FakeCluster([make_node("n1")])
    plugin = knowing(cluster)
    cluster.cache.objects.note_trouble(kind, "gang", "default", "why")
    rejection = plugin.pre_filter(cluster.cycle(pod), pod)
    assert isinstance(rejection, Rejection)
    assert rejection.message == (
        "PodGroup default/gang cannot be decoded: why; correct it, or remove the pod from the group"
    )


def test_where_no_group_is_seen_at_all_a_missing_right_is_thought_of() -> None:
    cluster = FakeCluster([make_node("n1")])
    plugin, pod = knowing(cluster), make_member("a")
    rejection = plugin.pre_filter(cluster.cycle(pod), pod)
    assert isinstance(rejection, Rejection)
    assert rejection.message == (
        "PodGroup not found: default/gang; create it, make sure that the scheduler may list "
        "podgroups.scheduling.x-k8s.io (it sees none at all), or remove the label from the pod"
    )


# ------------------------------------------------------------------------------------------------------- what helps


@pytest.mark.parametrize(
    ("new", "helps"),
    [
        pytest.param(make_group(), True, id="its own group"),
        pytest.param(make_group("other"), False, id="another one"),
        pytest.param(make_group(namespace="other"), False, id="one of another namespace"),
        pytest.param(make_native_group(), False, id="one of the other API"),
    ],
)
def test_a_group_that_comes_helps_its_pods(new: Any, helps: bool) -> None:
    event = Event(PodGroup, Action.ADD)
    assert knowing(FakeCluster()).is_own_group(make_member("a"), event, None, new) is helps


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(make_group(minimum=3), make_group(minimum=2), True, id="another minimum"),
        pytest.param(make_group(), make_group(), False, id="nothing else"),
        pytest.param(make_group(), make_group(status=REACHED), False, id="another status"),
        pytest.param(make_group(), make_group(policy="OnlyWaiting"), True, id="another policy"),
        pytest.param(
            make_group(policy="OnceSatisfied"),
            make_group(policy="OnceSatisfied", status=REACHED),
            True,
            id="it was satisfied, which counts for it",
        ),
    ],
)
def test_a_group_helps_if_it_asks_for_something_else(old: Any, new: Any, helps: bool) -> None:
    event = Event(PodGroup, Action.UPDATE)
    assert knowing(FakeCluster()).is_own_group(make_member("a"), event, old, new) is helps


def test_a_sibling_that_is_placed_helps() -> None:
    plugin, event = knowing(FakeCluster()), Event(Resource.ASSIGNED_POD, Action.ADD)
    pods = make_member("b", node="n1"), make_member("b", "other", node="n1"), make_pod("b", node="n1")
    assert [plugin.is_sibling(make_member("a"), event, None, pod) for pod in pods] == [True, False, False]


@pytest.mark.parametrize(
    ("nodes", "wanted", "helps"),
    [
        pytest.param([4], [2, 2], True, id="room for all that are needed"),
        pytest.param([3], [2, 2], False, id="room for one of them"),
        pytest.param([1, 1, 1, 1], [2, 2], False, id="enough in all, and on no node"),
        pytest.param([4], [1, 2, 3], True, id="different ones: the smallest are enough"),
        pytest.param([2], [1, 2, 3], False, id="different ones: not even they"),
    ],
)
def test_a_gang_is_woken_when_there_may_be_room(nodes: list[int], wanted: list[int], helps: bool) -> None:
    there = [make_node(f"n{number}", cpu=cpu) for number, cpu in enumerate(nodes)]
    plugin = knowing(FakeCluster(there, objects=[make_group(minimum=2)]))
    pods = [make_member(f"p{number}", cpu=cpu) for number, cpu in enumerate(wanted)]
    assert plugin.gang_rejected(GANG, pods, "why") is not helps
    assert plugin.has_room(pods[0], Event(Resource.NODE, Action.ADD), None, make_node("new")) is helps


def test_who_was_told_a_moment_ago_is_not_tried_before_there_may_be_room() -> None:
    cluster = FakeCluster([make_node("n1", cpu=1)], objects=[make_group(minimum=2)])
    plugin, pods = knowing(cluster), make_members(2, cpu=1)
    assert plugin.known_rejection(GANG, pods) is None
    plugin.gang_rejected(GANG, pods, "no room")
    assert plugin.known_rejection(GANG, pods) == "no room"
    assert plugin.known_rejection(GANG, [*pods, make_member("new")]) is None  # it was told nothing yet
    plugin._clock.now += 11  # type: ignore[attr-defined]
    assert plugin.known_rejection(GANG, pods) is None  # others may be evicted for it by now
    plugin.gang_rejected(GANG, pods, "no room")
    cluster.cache.put_node(make_node("n2", cpu=1))
    assert plugin.known_rejection(GANG, pods) is None


def test_who_may_evict_nobody_is_not_tried_before_there_may_be_room_however_long_it_takes() -> None:
    cluster = FakeCluster([make_node("n1", cpu=1)], objects=[make_group(minimum=2)])
    plugin, pods = knowing(cluster), make_members(2, cpu=1, spec={"preemptionPolicy": "Never"})
    plugin.gang_rejected(GANG, pods, "no room")
    plugin._clock.now += 1000  # type: ignore[attr-defined]
    assert plugin.known_rejection(GANG, pods) == "no room"
    cluster.cache.put_node(make_node("n2", cpu=1))
    assert plugin.known_rejection(GANG, pods) is None


def test_nothing_is_known_of_a_gang_that_was_not_tried() -> None:
    assert knowing(FakeCluster()).has_room(make_member("a"), Event(Resource.NODE, Action.ADD), None, make_node("new"))


def test_room_does_not_help_a_gang_that_lacks_members() -> None:
    plugin = knowing(FakeCluster([make_node("n1")], objects=[make_group(minimum=2)]))
    pod, gone = make_member("a"), Event(Resource.ASSIGNED_POD, Action.DELETE)
    assert plugin.objection(GANG, pod, 1, 0) is not None
    assert not plugin.has_room(pod, Event(Resource.NODE, Action.ADD), None, make_node("new"))
    assert not plugin.has_room(pod, gone, make_pod("stranger", node="n1"), None)
    assert plugin.has_room(pod, gone, make_member("b", node="n1"), None)  # its label may have asked for more
    assert plugin.objection(GANG, pod, 2, 0) is None
    assert plugin.has_room(pod, Event(Resource.NODE, Action.ADD), None, make_node("new"))


def test_gangs_that_failed_are_not_remembered_for_ever() -> None:
    plugin = knowing(FakeCluster([make_node("n1", cpu=1)]))
    for number in range(10_050):
        plugin._records.fail(GangName(BY_GROUP, "default", str(number)), 0.0, make_members(1), 2)
    assert len(plugin._records) <= 10_001


# ------------------------------------------------------------------------------------------------------- one by one


@pytest.mark.parametrize(
    ("permit", "group", "seconds"),
    [
        pytest.param(60, None, 60, id="as the arguments say"),
        pytest.param(60, 5, 5, id="as the group says"),
        pytest.param(60, 0, 60, id="a group that says zero leaves it to the arguments"),
        pytest.param(0, None, 60, id="nobody says anything"),
    ],
)
async def test_a_pod_that_is_placed_alone_waits_for_its_siblings(permit: int, group: int | None, seconds: int) -> None:
    spec: dict[str, Any] = {} if group is None else {"scheduleTimeoutSeconds": group}
    cluster, waiting = FakeCluster([make_node("n1")], objects=[make_group(minimum=2, **spec)]), WaitingPods()
    plugin = knowing(cluster, waiting, permitWaitingTimeSeconds=permit)
    first, second = (place(cluster, pod) for pod in (make_member("first"), make_pod("alone")))
    assert plugin.permit(cluster.cycle(second), second, "n1") is None  # belongs to nobody
    answer = plugin.permit(cluster.cycle(first), first, "n1")
    assert isinstance(answer, Wait)
    assert answer.seconds == seconds
    waiting.expect(first, {"Coscheduling": answer})
    sibling = place(cluster, make_member("sibling"))
    assert plugin.permit(cluster.cycle(sibling), sibling, "n1") is None
    assert await waiting.wait(first.uid) is None


@pytest.mark.parametrize(("policy", "waits"), [("WaitingAndPlaced", False), ("OnlyWaiting", True)])
async def test_a_pod_that_is_placed_alone_waits_for_those_that_count(policy: str, waits: bool) -> None:
    there = [make_member("old", node="n1")]
    cluster, waiting = FakeCluster([make_node("n1")], there, [make_group(policy=policy)]), WaitingPods()
    plugin = knowing(cluster, waiting)
    first, second = (place(cluster, pod) for pod in make_members(2))
    answer = plugin.permit(cluster.cycle(first), first, "n1")
    assert isinstance(answer, Wait) is waits
    if answer is not None:
        waiting.expect(first, {"Coscheduling": answer})
        assert plugin.permit(cluster.cycle(second), second, "n1") is None
        assert await waiting.wait(first.uid) is None
        cluster.cache.forget(second.uid)
        assert plugin.missing(GANG, second) == 0  # it had its quorum, and may try again alone


async def test_who_waits_goes_back_with_a_sibling_that_lost_its_place() -> None:
    cluster, waiting = FakeCluster([make_node("n1")], objects=[make_group(minimum=3)]), WaitingPods()
    plugin = knowing(cluster, waiting)
    first, second = (place(cluster, pod) for pod in make_members(2))
    waiting.expect(first, {"Coscheduling": Wait(60)})
    plugin.unreserve(cluster.cycle(second), second, "n1")
    rejection = await asyncio.wait_for(waiting.wait(first.uid), 1)
    assert rejection is not None
    assert (rejection.message, rejection.plugin) == ("rejection in Unreserve", "Coscheduling")


def place(cluster: FakeCluster, pod: Pod) -> Pod:
    placed = pod.on("n1")
    cluster.cache.assume(placed)
    return placed


# ------------------------------------------------------------------------------------------------------- who is next


def test_order() -> None:
    cluster = FakeCluster(objects=[make_group("old")])
    plugin = knowing(cluster)
    created = 1767225600.0  # of the group
    alone, important, member = (
        queued(make_pod("alone"), created + 1),
        queued(make_pod("important", priority=10), created + 9),
        queued(make_member("m", "old"), created + 5),
    )
    order = sorted((alone, important, member), key=plugin.sort_key)
    assert [each.pod.name for each in order] == ["important", "m", "alone"]
    assert plugin.less(member, alone)
    plugin._clock.now = created + 2  # type: ignore[attr-defined]
    plugin.gang_rejected(GangName(BY_GROUP, "default", "old"), [member.pod], "why")
    assert plugin.less(alone, member)
    plugin.placed_together(GangName(BY_GROUP, "default", "old"))
    assert plugin.less(member, alone)


def test_members_of_groups_of_the_same_age_stay_together() -> None:
    cluster = FakeCluster(objects=[make_group("a"), make_group("b")])
    plugin = knowing(cluster)
    pods = [queued(make_member(f"{name}{gang}", gang), 0) for name in "xy" for gang in "ba"]
    assert [each.pod.name for each in sorted(pods, key=plugin.sort_key)] == ["xa", "ya", "xb", "yb"]


def queued(pod: Pod, timestamp: float) -> QueuedPod:
    return QueuedPod(pod, timestamp)
