"""A decision as the messages of the scheduler tell it."""

from oracle.observation import Observation
from oracle.scenario import Manifest
from oracle.scheduler_log import Entry

POD: Manifest = {"metadata": {"namespace": "default", "name": "p"}}


def told(
    *messages: tuple[str, dict[str, str]], about: str = "default/p", pod: Manifest = POD
) -> tuple[Observation, list[bool]]:
    observation = Observation(pod)
    return observation, [observation.take(Entry(message, {"pod": about} | facts)) for message, facts in messages]


def test_a_bound_pod_has_scores_and_a_node() -> None:
    observation, ends = told(
        ("Plugin scored node for pod", {"plugin": "ImageLocality", "node": "a", "score": "3"}),
        ("Plugin scored node for pod", {"plugin": "ImageLocality", "node": "b", "score": "7"}),
        ("Calculated node's final score for pod", {"node": "a", "score": "3"}),
        ("Calculated node's final score for pod", {"node": "b", "score": "7"}),
        ("Successfully bound pod to node", {"node": "b"}),
    )
    decision = observation.decision()
    assert ends == [False, False, False, False, True]
    assert (decision.node, decision.outcome) == ("b", "bound")
    assert decision.scores == {"ImageLocality": {"a": 3, "b": 7}}
    assert decision.feasible == {"a", "b"}
    assert decision.best == {"b"}


def test_the_only_feasible_node_gets_no_scores() -> None:
    observation, _ = told(("Successfully bound pod to node", {"node": "b"}))
    assert observation.decision().feasible == {"b"}


def test_an_unschedulable_pod_has_a_message_and_rejectors() -> None:
    observation, ends = told(
        ("Unable to schedule pod; no fit; waiting", {"err": "0/1 nodes are available"}),
        ("Pod moved to an internal scheduling queue", {"unschedulable plugins": '{"NodePorts":{},"NodeAffinity":{}}'}),
        (
            "Updating pod condition and nominated node name",
            {"conditionReason": "Unschedulable", "nominatedNodeName": ""},
        ),
        ("Unable to schedule pod; no fit; waiting", {"err": "said in a second attempt"}),
    )
    decision = observation.decision()
    assert ends == [False, False, True, True]
    assert (decision.outcome, decision.message) == ("unschedulable", "0/1 nodes are available")
    assert decision.rejectors == {"NodePorts", "NodeAffinity"}


def test_a_preempting_pod_is_decided_when_all_its_victims_are_told() -> None:
    observation, ends = told(
        ("Unable to schedule pod; no fit; waiting", {"err": "preemption: found..., preempting 2 victims"}),
        (
            "Victim Pod is already being deleted, skipping the API call for it",
            {"pod": "", "preemptor": "default/p"} | {"victim": "default/old"},
        ),
        (
            "Updating pod condition and nominated node name",
            {"conditionReason": "Unschedulable", "nominatedNodeName": "n1"},
        ),
        ("Preemptor Pod preempted victim Pod", {"pod": "", "preemptor": "default/p", "victim": "default/r1"}),
    )
    decision = observation.decision()
    assert ends == [False, False, False, True]
    assert (decision.outcome, decision.nominated) == ("preempting", "n1")
    assert decision.victims == {"default/old", "default/r1"}


def test_a_pod_that_waits_for_volumes_has_a_node_all_the_same() -> None:
    pod = POD | {"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}}
    observation, ends = told(("Updating pod condition and nominated node name", {"nominatedNodeName": "n1"}), pod=pod)
    assert ends == [True]
    assert observation.is_waiting_for_volumes
    assert observation.decision().node == "n1"


def test_a_pod_whose_devices_are_written_is_not_bound_yet() -> None:
    observation, ends = told(
        ("Updating pod condition and nominated node name", {"nominatedNodeName": "n1"}),
        ("Successfully bound pod to node", {"node": "n1"}),
    )
    assert ends == [False, True]
    assert not observation.is_waiting_for_volumes


def test_a_gated_pod_is_decided_before_any_attempt() -> None:
    observation, ends = told(
        ("Status after running PreEnqueue plugin", {"plugin": "SchedulingGates", "status": "waiting"})
    )
    assert ends == [True]
    assert observation.decision().outcome == "gated"


def test_what_is_said_about_others_is_not_heard() -> None:
    observation, ends = told(("Successfully bound pod to node", {"node": "b"}), about="default/other")
    assert ends == [False]
    assert observation.decision().node is None


def test_a_preemptor_that_is_held_back_before_its_outcome_is_written_is_not_gated() -> None:
    observation, ends = told(
        ("Unable to schedule pod; no fit; waiting", {"err": "preemption: found..., preempting 1 victims"}),
        (
            "Status after running PreEnqueue plugin",
            {"plugin": "DefaultPreemption", "status": "waiting for the preemption for this pod to be finished"},
        ),
        ("Preemptor Pod preempted victim Pod", {"pod": "", "preemptor": "default/p", "victim": "default/r1"}),
        (
            "Updating pod condition and nominated node name",
            {"conditionReason": "Unschedulable", "nominatedNodeName": "n1"},
        ),
    )
    assert ends == [False, False, False, True]
    assert (observation.decision().outcome, observation.decision().nominated) == ("preempting", "n1")
