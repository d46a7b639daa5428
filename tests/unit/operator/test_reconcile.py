"""The way of a profile, round by round, in a cluster in memory."""

from datetime import timedelta
from typing import Any

import pytest

from kit.profile_world import FAILING, IGNORED, REFUSED, ProfileWorld
from pilotage.config.handshake import CONTENDED, HASH, STRATEGY
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.profiles.actions import Action, DeleteProfile, PatchStatus, WakeUp, WriteEvent
from pilotage_operator.profiles.reconcile import reconcile
from pilotage_operator.profiles.unit_judge import UnitJudge
from pilotage_operator.profiles.world import Answer, KeptProfile, Right

JUDGE = UnitJudge(Judge(built_in()))
GOOD: dict[str, Any] = {"schedulerName": "good"}
BETTER: dict[str, Any] = {"schedulerName": "good", "percentageOfNodesToScore": 50}
UNKNOWN: dict[str, Any] = {"schedulerName": "good", "plugins": [{"name": "Nobody"}]}
D = 60


def bad(number: int, **more: Any) -> dict[str, Any]:
    return {"schedulerName": "good", "percentageOfNodesToScore": number, **more}


def once(world: ProfileWorld) -> list[Action]:
    """One round, of which everything is done; what is left to do afterwards is nothing."""
    actions = reconcile(world.world(), world.settings, JUDGE)
    for action in actions:
        world.do(action)
    again = reconcile(world.world(), world.settings, JUDGE)
    assert [each for each in again if not isinstance(each, WakeUp) and not getattr(each, "once", "")] == []
    return actions


def settle(world: ProfileWorld, seconds: float = 0.0) -> None:
    """Let the operator and the replicas have their turns, then time pass, then again."""
    for _ in range(3):
        once(world)
        world.react()
    once(world)
    if seconds:
        world.now += timedelta(seconds=seconds)
        settle(world)


@pytest.fixture
def world() -> ProfileWorld:
    return ProfileWorld()


def proven(world: ProfileWorld, spec: dict[str, Any] = GOOD) -> None:
    world.put("p", spec)
    settle(world)
    settle(world, D)


def names(world: ProfileWorld) -> set[str]:
    return set(world.served)


def test_from_apply_to_ready(world: ProfileWorld) -> None:
    world.put("p", GOOD)
    once(world)
    assert world.condition("p", "Accepted")[:2] == ("True", "Accepted")
    assert world.condition("p", "Applied")[:2] == ("True", "Applied")
    assert world.condition("p", "Ready")[:2] == ("False", "Waiting")
    assert world.status("p")["replicas"] == "0/2"
    world.react(list(world.pods)[:1])
    once(world)
    assert world.condition("p", "Ready")[:2] == ("False", "Waiting")
    assert world.status("p")["replicas"] == "1/2"
    world.react()
    once(world)
    status = world.status("p")
    assert world.condition("p", "Ready")[:2] == ("True", "Acknowledged")
    assert (status["replicas"], status["configHash"], status["schedulerName"]) == ("2/2", world.hash, "good")
    assert status["instance"] == "sys/pilot"
    assert status["pluginCount"] == 20
    assert status["plugins"]["queueSort"] == ["PrioritySort"]
    assert [(each.reason, each.severity) for each in world.events] == [
        ("Accepted", "Normal"),
        ("Applied", "Normal"),
        ("Acknowledged", "Normal"),
    ]


def test_a_spec_is_the_last_good_one_after_its_trial(world: ProfileWorld) -> None:
    world.put("p", GOOD)
    settle(world)
    assert "lastGood" not in world.status("p")
    settle(world, D - 1)
    assert "lastGood" not in world.status("p")
    settle(world, 1)
    assert world.status("p")["lastGood"]["spec"] == GOOD
    assert world.status("p")["lastGood"]["generation"] == 1


def test_the_operator_wakes_up_for_the_end_of_a_trial(world: ProfileWorld) -> None:
    world.put("p", GOOD)
    settle(world)
    wake = [action for action in reconcile(world.world(), world.settings, JUDGE) if isinstance(action, WakeUp)]
    assert [action.at - world.now for action in wake] == [timedelta(seconds=D)]
    settle(world, D)
    assert reconcile(world.world(), world.settings, JUDGE) == []


def test_the_start_of_a_trial_is_on_record_before_the_configuration_changes(world: ProfileWorld) -> None:
    world.put("p", GOOD)
    kinds = [type(action).__name__ for action in reconcile(world.world(), world.settings, JUDGE)]
    assert kinds.index("PatchStatus") < kinds.index("CreateConfigMap")


def test_an_invalid_edit_stops_nothing(world: ProfileWorld) -> None:
    proven(world)
    before = world.text
    world.put("p", UNKNOWN)
    settle(world)
    assert world.text == before
    status, reason, message = world.condition("p", "Accepted")
    assert (status, reason) == ("False", "UnknownPlugin")
    assert message == "spec.plugins[name=Nobody]: unknown plugin (the spec of generation 1 keeps running)"
    assert world.condition("p", "Applied")[:2] == ("False", "LastGoodRunning")
    # The one condition that lists show says why, too.
    assert world.condition("p", "Ready") == ("False", "NotAccepted", f"UnknownPlugin: {message}")
    assert world.status("p")["replicas"] == "2/2"


def test_an_invalid_edit_during_the_first_trial_stops_nothing_either(world: ProfileWorld) -> None:
    world.put("p", GOOD)
    settle(world)
    world.put("p", UNKNOWN)
    settle(world)
    assert names(world) == {"p"}
    settle(world, 2 * D)
    assert world.status("p")["lastGood"]["spec"] == GOOD


def test_an_invalid_profile_is_not_served_and_says_so(world: ProfileWorld) -> None:
    world.put("p", UNKNOWN)
    world.put("q", {})
    settle(world)
    assert names(world) == {"q"}
    assert world.condition("p", "Applied")[:2] == ("False", "NotAccepted")
    assert world.condition("p", "Ready")[:2] == ("False", "NotAccepted")
    assert world.condition("q", "Ready")[0] == "True"


@pytest.mark.parametrize("spec", [None, "text", {"plugins": 3}, {"instance": 5}, {"schedulerName": {"a": 1}}])
def test_a_profile_that_nobody_can_read_stops_nothing(world: ProfileWorld, spec: Any) -> None:
    world.put("p", {})
    world.profiles["p"]["spec"] = spec
    world.put("q", {})
    settle(world)
    assert "q" in names(world)
    if spec is not None:
        assert world.condition("p", "Accepted")[:2] == ("False", "Invalid")


@pytest.mark.parametrize(
    ("number", "reason", "cause"),
    [
        pytest.param(REFUSED, "Refused", "no", id="a replica refuses it"),
        pytest.param(FAILING, "PluginFailing", "P failed: oops", id="a plugin fails on every pod"),
        pytest.param(IGNORED, "NotAcknowledged", "2 of 2 replicas did not run it within 60 s", id="nobody answers"),
    ],
)
def test_a_bad_spec_is_taken_back_and_not_tried_again(
    world: ProfileWorld, number: int, reason: str, cause: str
) -> None:
    proven(world)
    good = world.text
    world.put("p", bad(number))
    settle(world)
    settle(world, D)
    assert world.text == good
    status, why, message = world.condition("p", "RolledBack")
    assert (status, why) == ("True", reason)
    assert cause in message
    assert "the spec of generation 1 runs again" in message
    assert world.condition("p", "Accepted")[0] == "True"
    assert world.condition("p", "Applied")[:2] == ("False", "LastGoodRunning")
    status, why, message = world.condition("p", "Ready")
    assert (status, why) == ("False", "RolledBack")
    assert message.startswith(f"{reason}: ")
    assert cause in message
    assert message.endswith(" (the spec of generation 1 keeps running)")
    assert world.status("p")["failed"]["reason"] == reason
    assert world.status("p")["replicas"] == "2/2"
    settle(world, 10 * D)
    assert world.text == good
    world.put("p", BETTER)
    settle(world)
    assert world.condition("p", "RolledBack")[:2] == ("False", "NotRolledBack")
    assert world.condition("p", "Ready")[0] == "True"
    assert reason in [event.reason for event in world.events if event.severity == "Warning"]


def test_failing_after_the_trial_is_told_and_left(world: ProfileWorld) -> None:
    proven(world, bad(FAILING - 1))
    world.pods[next(iter(world.pods))]["metadata"]["annotations"]["pilotage.dev/config-trouble"] = (
        f'{{"kind": "failing", "hash": "{world.hash}", "schedulerName": "good", "plugin": "P", "message": "oops"}}'
    )
    once(world)
    assert world.condition("p", "Ready") == ("False", "PluginFailing", "P fails: oops")
    world.react()
    once(world)
    assert world.condition("p", "Ready")[0] == "True"


def test_refused_without_a_good_spec_goes_out_of_service(world: ProfileWorld) -> None:
    world.put("p", bad(REFUSED))
    settle(world)
    assert names(world) == set()
    assert "idle.pilot" in world.text
    assert world.condition("p", "RolledBack")[:2] == ("True", "Refused")
    assert "there is no earlier spec to run" in world.condition("p", "RolledBack")[2]


def test_failing_without_a_good_spec_stays_in_service(world: ProfileWorld) -> None:
    world.put("p", bad(FAILING))
    settle(world)
    settle(world, 3 * D)
    assert names(world) == {"p"}
    assert world.condition("p", "Ready")[:2] == ("False", "PluginFailing")
    assert "lastGood" not in world.status("p")


def test_nobody_answering_at_the_first_install_is_no_fault_of_the_spec(world: ProfileWorld) -> None:
    world.put("p", GOOD)
    once(world)
    world.now += timedelta(seconds=5 * D)
    once(world)
    assert names(world) == {"p"}
    assert world.condition("p", "Ready")[:2] == ("False", "Waiting")
    settle(world)
    assert world.condition("p", "Ready")[0] == "True"


def test_a_pod_that_does_not_run_yet_is_no_fault_of_the_spec(world: ProfileWorld) -> None:
    proven(world)
    world.add_pod("Pending")
    running = list(world.pods)[:2]
    world.put("p", BETTER)
    once(world)
    world.react(running)
    world.now += timedelta(seconds=2 * D)
    once(world)
    assert world.condition("p", "RolledBack")[0] == "False"
    assert world.condition("p", "Ready")[:2] == ("False", "Waiting")
    assert world.status("p")["replicas"] == "2/3"


def test_only_the_profile_that_a_refusal_names_is_taken_back(world: ProfileWorld) -> None:
    for name in ("p", "q"):
        world.put(name, {"schedulerName": f"{name}-s"})
    once(world)
    pod = next(iter(world.pods.values()))
    trouble = f'{{"kind": "refused", "hash": "{world.hash}", "message": "scheduler name q-s: no"}}'
    pod["metadata"]["annotations"] = {"pilotage.dev/config-trouble": trouble}
    once(world)
    assert names(world) == {"p"}


def test_of_profiles_that_no_refusal_names_the_last_one_is_taken_back(world: ProfileWorld) -> None:
    world.put("p", {"schedulerName": "p-s"})
    settle(world)
    world.now += timedelta(seconds=1)
    world.put("q", {"schedulerName": "q-s"})
    once(world)
    pod = next(iter(world.pods.values()))
    trouble = f'{{"kind": "refused", "hash": "{world.hash}", "message": "no"}}'
    pod["metadata"]["annotations"]["pilotage.dev/config-trouble"] = trouble
    once(world)
    assert names(world) == {"p"}
    assert world.condition("q", "RolledBack")[:2] == ("True", "Refused")
    assert world.condition("p", "RolledBack")[0] == "False"


def test_trouble_about_another_configuration_is_old_news(world: ProfileWorld) -> None:
    world.put("p", GOOD)
    once(world)
    pod = next(iter(world.pods.values()))
    pod["metadata"]["annotations"] = {"pilotage.dev/config-trouble": '{"kind": "refused", "hash": "x", "message": "m"}'}
    once(world)
    assert names(world) == {"p"}


def test_of_two_with_one_name_the_older_wins_and_the_other_follows_when_it_is_gone(world: ProfileWorld) -> None:
    world.put("z-older", GOOD)
    world.put("a-younger", GOOD)
    settle(world)
    assert names(world) == {"z-older"}
    status, reason, message = world.condition("a-younger", "Accepted")
    assert (status, reason) == ("False", "DuplicateSchedulerName")
    assert "is used by the older profile z-older" in message
    del world.profiles["z-older"]
    settle(world)
    assert names(world) == {"a-younger"}
    assert world.condition("a-younger", "Ready")[0] == "True"


def test_an_edit_to_the_name_of_an_older_profile_stops_neither(world: ProfileWorld) -> None:
    world.put("older", GOOD)
    world.put("younger", {})
    settle(world)
    world.put("younger", GOOD)
    settle(world)
    assert names(world) == {"older", "younger"}
    assert world.condition("younger", "Accepted")[1] == "DuplicateSchedulerName"
    assert "schedulerName: younger" in world.text


def test_a_change_elsewhere_does_not_make_a_ready_profile_flap(world: ProfileWorld) -> None:
    proven(world)
    since = world.profiles["p"]["status"]["conditions"][2]["lastTransitionTime"]
    world.put("q", {})
    once(world)
    assert world.condition("p", "Ready")[0] == "True"
    assert world.status("p")["replicas"] == "2/2"
    world.now += timedelta(seconds=D)
    once(world)
    assert world.condition("p", "Ready")[:2] == ("False", "Waiting")
    world.react()
    once(world)
    assert world.condition("p", "Ready")[0] == "True"
    assert world.profiles["p"]["status"]["conditions"][2]["lastTransitionTime"] != since


def test_without_replicas_nobody_is_ready(world: ProfileWorld) -> None:
    proven(world)
    world.pods.clear()
    once(world)
    assert world.condition("p", "Ready")[:2] == ("False", "NoReplicas")
    assert world.status("p")["replicas"] == "0/0"


@pytest.mark.parametrize("end", ["deletionTimestamp", "phase"])
def test_pods_that_end_do_not_count(world: ProfileWorld, end: str) -> None:
    proven(world)
    pod = world.pods[world.add_pod()]
    if end == "phase":
        pod["status"]["phase"] = "Failed"
    else:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    once(world)
    assert world.status("p")["replicas"] == "2/2"


def test_a_missing_right_and_a_missing_resource_are_told_and_asked_again(world: ProfileWorld) -> None:
    world.rights = {Right("", "pods", "delete"): "denied"}
    world.put("p", GOOD)
    world.put("q", {"plugins": [{"name": "DefaultPreemption", "enabled": False}]})
    settle(world)
    status, reason, message = world.condition("p", "Accepted")
    assert (status, reason) == ("False", "MissingPermission")
    assert "DefaultPreemption requires delete on pods" in message
    assert "system:serviceaccount:sys:pilot-scheduler is not granted" in message
    assert "rbac.plugins" in message
    assert names(world) == {"q"}
    assert any(isinstance(each, WakeUp) for each in reconcile(world.world(), world.settings, JUDGE))
    world.rights = {}
    settle(world)
    assert names(world) == {"p", "q"}
    world.rights = {Right("", "pods", "delete"): "unserved"}
    settle(world)
    assert world.condition("p", "Accepted")[1] == "MissingCRD"
    assert names(world) == {"p", "q"}, "what runs is not stopped by a right that is gone"


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        pytest.param(
            "unserved",
            "MissingCRD",
            "install the CustomResourceDefinition elasticquotas.scheduling.x-k8s.io",
            id="that nobody serves",
        ),
        pytest.param(
            "denied",
            "MissingPermission",
            "CapacityScheduling requires list, watch on elasticquotas.scheduling.x-k8s.io",
            id="that it may not see",
        ),
    ],
)
def test_a_plugin_is_not_let_in_without_the_objects_it_reads(
    world: ProfileWorld, answer: Answer, reason: str, words: str
) -> None:
    world.rights = {Right("scheduling.x-k8s.io", "elasticquotas", verb): answer for verb in ("list", "watch")}
    world.put("p", {"plugins": [{"name": "CapacityScheduling"}]})
    settle(world)
    assert world.condition("p", "Accepted")[1] == reason
    assert words in world.condition("p", "Accepted")[2]


def test_a_cluster_without_metrics_is_not_told_to_define_them(world: ProfileWorld) -> None:
    world.rights = {Right("metrics.k8s.io", "nodes", "list"): "unserved"}
    world.put("p", {"plugins": [{"name": "TargetLoadPacking"}]})
    settle(world)
    _, reason, message = world.condition("p", "Accepted")
    assert reason == "MissingCRD"
    assert "TargetLoadPacking needs nodes.metrics.k8s.io, which the cluster does not serve" in message
    assert "install metrics-server, or set another source of metrics with watcherAddress or metricProvider" in message
    assert "CustomResourceDefinition" not in message


def damaged(world: ProfileWorld, how: str) -> None:
    assert world.config_map is not None
    data, said = world.config_map["data"], world.config_map["metadata"]["annotations"]
    match how:
        case "deleted":
            world.config_map = None
        case "emptied":
            world.config_map["data"] = {}
        case "text":
            data["scheduler-config.yaml"] = "profiles: []"
        case "served":
            data["served.json"] = "{"
        case "more":
            data["more"] = "x"
        case "hash":
            said[HASH] = "0"
        case "unhashed":
            said.clear()
        case "unlabelled":
            world.config_map["metadata"]["labels"] = {}
        case "disowned":
            world.config_map["metadata"]["ownerReferences"] = []


@pytest.mark.parametrize(
    "how", ["deleted", "emptied", "text", "served", "more", "hash", "unhashed", "unlabelled", "disowned"]
)
@pytest.mark.parametrize("remembers", [True, False])
def test_a_damaged_config_map_is_repaired(world: ProfileWorld, how: str, remembers: bool) -> None:
    proven(world)
    world.put("p", UNKNOWN)
    settle(world)
    assert world.config_map is not None
    text, served = world.text, world.config_map["data"]["served.json"]
    world.remembered = dict(world.config_map["data"]) if remembers else {}
    damaged(world, how)
    once(world)
    assert (world.text, world.config_map["data"]) == (text, {"scheduler-config.yaml": text, "served.json": served})
    assert world.config_map["metadata"]["ownerReferences"][0]["name"] == "pilot-scheduler"


def test_without_the_deployment_nothing_is_written_that_nobody_owns(world: ProfileWorld) -> None:
    world.deployment = None
    world.kept = (KeptProfile("kept", {}),)
    world.owner = None
    world.put("p", GOOD)
    settle(world)
    assert world.config_map is None
    assert "kept" not in world.profiles


def test_restart_replaces_the_pods_and_waits_for_them(world: ProfileWorld) -> None:
    proven(world)
    world.put("p", BETTER | {"rollout": {"strategy": "Restart"}})
    once(world)
    assert world.config_map is not None
    assert world.config_map["metadata"]["annotations"][STRATEGY] == "Restart"
    assert world.deployment is not None
    assert world.deployment["spec"]["template"]["metadata"]["annotations"] == {HASH: world.hash}
    world.react()
    once(world)
    assert world.condition("p", "Ready")[:2] == ("False", "Waiting")
    world.replace_pods()
    world.react()
    settle(world)
    assert world.condition("p", "Ready")[0] == "True"
    assert reconcile(world.world(), world.settings, JUDGE)[:-1] == []


def test_a_restart_that_never_ends_is_taken_back_the_same_way(world: ProfileWorld) -> None:
    proven(world)
    world.put("p", BETTER | {"rollout": {"strategy": "Restart"}})
    once(world)
    world.now += timedelta(seconds=D)
    once(world)
    assert world.condition("p", "RolledBack")[:2] == ("True", "NotAcknowledged")
    assert world.deployment is not None
    assert world.config_map is not None
    assert world.config_map["metadata"]["annotations"][STRATEGY] == "Restart"
    assert world.deployment["spec"]["template"]["metadata"]["annotations"] == {HASH: world.hash}


def test_a_replica_that_needs_new_pods_gets_them(world: ProfileWorld) -> None:
    proven(world)
    world.put("p", BETTER)
    once(world)
    pod = next(iter(world.pods.values()))
    trouble = f'{{"kind": "restart", "hash": "{world.hash}", "message": "the first extender"}}'
    pod["metadata"]["annotations"]["pilotage.dev/config-trouble"] = trouble
    once(world)
    assert world.deployment is not None
    assert world.deployment["spec"]["template"]["metadata"]["annotations"] == {HASH: world.hash}


@pytest.mark.parametrize(
    ("instance", "claimed", "is_served"),
    [
        pytest.param(None, None, True, id="nobody's is claimed"),
        pytest.param(None, "sys/pilot", True, id="claimed stays ours"),
        pytest.param(None, "other/pilot", False, id="whoever came first has it"),
        pytest.param("pilot", None, True, id="by the name of the release"),
        pytest.param("pilot", "other/pilot", False, id="a namesake came first"),
        pytest.param("sys/pilot", "other/pilot", True, id="by the whole name, whoever had it"),
        pytest.param("other/pilot", None, False, id="another one's"),
        pytest.param("other", None, False, id="another one's by name"),
    ],
)
def test_whose_profile_it_is(world: ProfileWorld, instance: str | None, claimed: str | None, is_served: bool) -> None:
    world.put("p", GOOD | ({"instance": instance} if instance else {}))
    if claimed:
        world.profiles["p"]["status"] = {"instance": claimed}
    once(world)
    assert ("p" in names(world)) == is_served
    assert world.status("p").get("instance") == ("sys/pilot" if is_served else claimed)


def test_a_profile_that_is_given_to_another_release_is_let_go(world: ProfileWorld) -> None:
    proven(world)
    world.put("p", GOOD | {"instance": "other"})
    once(world)
    assert names(world) == set()
    assert "instance" not in world.status("p")


def test_profiles_of_the_values_are_made_kept_changed_and_dropped(world: ProfileWorld) -> None:
    world.kept = (KeptProfile("kept", GOOD),)
    once_all(world)
    stored = world.profiles["kept"]
    assert stored["spec"] == GOOD | {"instance": "sys/pilot"}
    assert stored["metadata"]["labels"]["pilotage.dev/release"] == "sys.pilot"
    assert stored["metadata"]["ownerReferences"][0]["uid"] == "uid-o"
    world.put("kept", BETTER)
    once_all(world)
    assert world.profiles["kept"]["spec"] == BETTER, "what a user changes stays"
    world.kept = (KeptProfile("kept", bad(30)),)
    once_all(world)
    assert world.profiles["kept"]["spec"]["percentageOfNodesToScore"] == 30, "until the values change"
    del world.profiles["kept"]
    once_all(world)
    assert "kept" in world.profiles
    world.kept = ()
    once_all(world)
    assert world.profiles == {}


def once_all(world: ProfileWorld) -> None:
    for _ in range(2):
        for action in reconcile(world.world(), world.settings, JUDGE):
            world.do(action)


def test_a_profile_of_the_same_name_that_is_not_of_the_values_is_left_alone(world: ProfileWorld) -> None:
    world.put("kept", BETTER)
    world.kept = (KeptProfile("kept", GOOD),)
    once_all(world)
    once_all(world)
    assert world.profiles["kept"]["spec"] == BETTER
    assert [event.reason for event in world.events].count("NotOfTheValues") == 1
    world.kept = ()
    once_all(world)
    assert set(world.profiles) == {"kept"}


def test_a_profile_of_the_values_whose_name_somebody_has_says_so_itself(world: ProfileWorld) -> None:
    served_by(world, "team/other", "kept", {"schedulerName": "good"})
    world.kept = (KeptProfile("kept", GOOD),)
    once_all(world)
    assert world.condition("kept.sys.pilot", "Accepted") == (
        "False",
        "DuplicateSchedulerName",
        "spec.schedulerName: good is used by the older profile kept of the release team/other; choose "
        "another name, or delete that profile (this profile is not running)",
    )
    assert world.condition("kept.sys.pilot", "Ready")[:2] == ("False", "NotAccepted")
    assert names(world) == set()
    # The other release goes, and with it its profile: ours gets its name, and nothing but its name changes.
    del world.profiles["kept"]
    once_all(world)
    settle(world)
    assert set(world.profiles) == {"kept"}
    assert world.condition("kept", "Ready")[0] == "True"
    assert names(world) == {"kept"}


def test_a_second_name_is_given_up_only_for_the_first(world: ProfileWorld) -> None:
    served_by(world, "team/other", "kept", {"schedulerName": "good"})
    world.kept = (KeptProfile("kept", GOOD),)
    once_all(world)
    del world.profiles["kept"]
    first = reconcile(world.world(), world.settings, JUDGE)
    assert [each for each in first if isinstance(each, DeleteProfile)] == []
    for action in first:
        world.do(action)
    second = reconcile(world.world(), world.settings, JUDGE)
    assert [each.name for each in second if isinstance(each, DeleteProfile)] == ["kept.sys.pilot"]


def served_by(world: ProfileWorld, instance: str, name: str, spec: dict[str, Any]) -> None:
    """Let another release serve a profile."""
    world.put(name, spec)
    status = {"instance": instance, "schedulerName": spec.get("schedulerName", name), "pluginCount": 20}
    world.profiles[name]["status"] = status


def test_a_name_that_another_release_serves_is_not_served_twice(world: ProfileWorld) -> None:
    served_by(world, "team/other", "theirs", GOOD)
    world.put("ours", GOOD)
    settle(world)
    assert world.condition("ours", "Accepted")[:2] == ("False", "DuplicateSchedulerName")
    assert "older profile theirs of the release team/other" in world.condition("ours", "Ready")[2]
    assert names(world) == set()
    world.profiles["theirs"]["status"].pop("pluginCount")  # it serves nothing of it any more
    settle(world)
    assert names(world) == {"ours"}


def test_what_ran_under_a_name_of_another_release_stops(world: ProfileWorld) -> None:
    world.put("theirs", GOOD | {"instance": "team/other"})
    world.put("ours", GOOD)
    settle(world)
    settle(world, D)
    assert names(world) == {"ours"}
    world.profiles["theirs"]["status"] = {"instance": "team/other", "schedulerName": "good", "pluginCount": 20}
    settle(world)
    assert names(world) == set()
    assert world.condition("ours", "Accepted")[:2] == ("False", "DuplicateSchedulerName")


def test_the_older_profile_keeps_its_name_whatever_another_release_does(world: ProfileWorld) -> None:
    world.put("ours", GOOD)
    served_by(world, "team/other", "theirs", GOOD)
    settle(world)
    assert names(world) == {"ours"}
    assert world.condition("ours", "Accepted")[0] == "True"


@pytest.mark.parametrize(
    ("spec", "leader", "reason", "words"),
    [
        pytest.param({}, "node-1_abc", "NoWarning", "no warnings", id="a plain profile"),
        pytest.param({"base": "None"}, "", "NoFilters", "add NodeResourcesFit", id="no plugins"),
        pytest.param(
            {"base": "None", "plugins": [{"name": "ImageLocality"}]}, "", "NoFilters", "no plugin filters", id="scores"
        ),
        pytest.param(
            {"base": "None", "plugins": [{"name": "NodeResourcesFit"}]}, "", "NoWarning", "no warnings", id="a filter"
        ),
        pytest.param(
            {"base": "None", "extenders": [{"urlPrefix": "http://e", "filterVerb": "f"}]},
            "",
            "NoWarning",
            "no warnings",
            id="an extender that filters",
        ),
        pytest.param(
            {"schedulerName": "default-scheduler"},
            "node-1_abc",
            "SharedName",
            "kube-scheduler (node-1_abc) also serves default-scheduler",
            id="beside kube-scheduler",
        ),
        pytest.param(
            {"schedulerName": "default-scheduler"}, "", "NoWarning", "no warnings", id="in the place of kube-scheduler"
        ),
        pytest.param(
            {"schedulerName": "default-scheduler", "base": "None"},
            "node-1_abc",
            "NoFilters",
            "both race for its pods",
            id="two at once",
        ),
    ],
)
def test_what_runs_and_is_hardly_meant_is_warned_of(
    world: ProfileWorld, spec: dict[str, Any], leader: str, reason: str, words: str
) -> None:
    world.kube_scheduler = leader
    world.put("p", spec)
    settle(world)
    status, why, message = world.condition("p", "Warning")
    assert (status, why) == ("False" if reason == "NoWarning" else "True", reason)
    assert words in message
    assert world.condition("p", "Ready")[0] == "True", "it runs all the same"
    warned = [event.reason for event in world.events if event.severity == "Warning"]
    assert warned == ([] if reason == "NoWarning" else [reason])


def test_a_spec_that_does_not_run_is_not_warned_of(world: ProfileWorld) -> None:
    world.put("p", UNKNOWN | {"base": "None"})
    settle(world)
    assert world.condition("p", "Warning")[:2] == ("False", "NoWarning")


def test_the_queue_keeps_its_order_while_others_need_it(world: ProfileWorld) -> None:
    judge = UnitJudge(Judge(_with_other_sort()))
    for name in ("oldest", "next", "last"):
        world.put(name, {})
    for action in reconcile(world.world(), world.settings, judge):
        world.do(action)
    other = {"plugins": [{"name": "OtherSort"}]}
    world.put("oldest", other)
    _run(world, judge)
    assert world.condition("oldest", "Accepted")[:2] == ("False", "DifferentQueueSort")
    assert names(world) == {"oldest", "next", "last"}
    world.put("next", other)
    _run(world, judge)
    assert names(world) == {"oldest", "next", "last"}
    assert "OtherSort" not in world.text
    world.put("last", other)
    _run(world, judge)
    assert world.text.count("- name: OtherSort") == 3
    assert [world.condition(name, "Accepted")[0] for name in ("oldest", "next", "last")] == ["True"] * 3


def _with_other_sort() -> Any:
    from pilotage.framework.api.plugin import QueueSort

    class OtherSort(QueueSort):
        """Sorts otherwise."""

    catalogue = built_in()
    catalogue.add(OtherSort, "test")
    return catalogue


def _run(world: ProfileWorld, judge: UnitJudge) -> None:
    for action in reconcile(world.world(), world.settings, judge):
        world.do(action)


def test_extenders_that_cannot_be_together_stop_only_the_younger(world: ProfileWorld) -> None:
    for number, name in enumerate(("p", "q")):
        extender = {"urlPrefix": f"http://e{number}", "bindVerb": "b"}
        world.put(name, {"extenders": [extender]})
    settle(world)
    assert names(world) == {"p"}
    assert world.condition("q", "Accepted")[:2] == ("False", "Invalid")
    assert "extender" in world.condition("q", "Accepted")[2]


def test_too_much_together_stops_only_the_younger(world: ProfileWorld) -> None:
    ignored = [f"example.com/a-resource-of-number-{number}" for number in range(5500)]
    for name in ("p", "q"):
        world.put(name, {"plugins": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ignored}}]})
    world.put("r", {})
    settle(world)
    assert names(world) == {"p", "r"}
    assert world.condition("q", "Accepted")[:2] == ("False", "TooLarge")


def test_a_status_that_nobody_can_read_is_written_anew(world: ProfileWorld) -> None:
    world.put("p", GOOD)
    world.profiles["p"]["status"] = {"conditions": [{"type": "Ready"}], "instance": "sys/pilot"}
    settle(world)
    assert world.condition("p", "Ready")[0] == "True"


def test_only_the_status_of_a_profile_that_changed_is_written(world: ProfileWorld) -> None:
    proven(world)
    actions = once(world)
    assert [each for each in actions if isinstance(each, PatchStatus | WriteEvent)] == []


def says(world: ProfileWorld, contended: str) -> None:
    [name, *_] = world.pods
    world.pods[name]["metadata"]["annotations"][CONTENDED] = contended
    settle(world)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param('{"good": {"binds": 400, "rejections": 3}}', "rejected 3 pods of 400 binds", id="too many"),
        pytest.param('{"good": {"binds": 1, "rejections": 1}}', "rejected a pod of 1 binds", id="one"),
        pytest.param('{"other": {"binds": 1, "rejections": 1}}', "", id="another profile"),
        pytest.param('{"good": {"binds": 1, "rejections": 0}}', "", id="none"),
        pytest.param('{"good": {"binds": "many", "rejections": 3}}', "", id="no numbers"),
        pytest.param('["good"]', "", id="no map"),
        pytest.param("{", "", id="no JSON"),
        pytest.param('{"good": {"binds": 1, "rejections": 1}}' + " " * (1 << 20), "", id="too long"),
    ],
)
def test_a_profile_whose_pods_kubelets_reject_is_contended(world: ProfileWorld, said: str, words: str) -> None:
    world.put("p", GOOD)
    settle(world)
    assert world.condition("p", "Contended") == ("False", "NotContended", "kubelets accept its pods")
    says(world, said)
    status, reason, message = world.condition("p", "Contended")
    assert (status, reason) == (("True", "RejectedPods") if words else ("False", "NotContended"))
    assert words in message
    assert ("spec.nodes.selector" in message) is bool(words)
    assert world.condition("p", "Ready")[0] == "True"
    assert [event.reason for event in world.events if event.severity == "Warning"] == ["RejectedPods"] * bool(words)
    says(world, "")
    assert world.condition("p", "Contended")[:2] == ("False", "NotContended")
