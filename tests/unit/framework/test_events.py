import pytest

from pilotage.framework.api.events import (
    ANYTHING,
    EXTENDER_RETRIES,
    FORCE_ACTIVATE,
    PROFILES_CHANGED,
    UNSCHEDULABLE_TIMEOUT,
    Action,
    Event,
    Resource,
    Retry,
)


def test_the_bits_are_in_the_order_of_kube_scheduler() -> None:
    single = [action for action in Action.__members__.values() if action.value.bit_count() == 1]
    assert [action.name for action in sorted(single, key=lambda action: action.value)] == [
        "ADD",
        "DELETE",
        "UPDATE_NODE_ALLOCATABLE",
        "UPDATE_NODE_LABEL",
        "UPDATE_NODE_TAINT",
        "UPDATE_NODE_CONDITION",
        "UPDATE_NODE_ANNOTATION",
        "UPDATE_NODE_DECLARED_FEATURE",
        "UPDATE_NODE_PREEMPTION_POLICY",
        "UPDATE_POD_LABEL",
        "UPDATE_POD_SCALE_DOWN",
        "UPDATE_POD_SCALE_UP",
        "UPDATE_POD_TOLERATION",
        "UPDATE_POD_SCHEDULING_GATES_ELIMINATED",
        "UPDATE_POD_GENERATED_RESOURCE_CLAIM",
    ]
    assert Action.ADD | Action.DELETE | Action.UPDATE == Action.ALL
    assert not Action.UPDATE & (Action.ADD | Action.DELETE)


@pytest.mark.parametrize(
    ("retry", "event", "expected"),
    [
        pytest.param(
            Retry(Resource.NODE, Action.ADD), Event(Resource.NODE, Action.ADD), True, id="the same resource and action"
        ),
        pytest.param(Retry(Resource.NODE, Action.ADD), Event(Resource.NODE, Action.DELETE), False, id="another action"),
        pytest.param(
            Retry(Resource.NODE, Action.ADD), Event(Resource.CSI_NODE, Action.ADD), False, id="another resource"
        ),
        pytest.param(
            Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT),
            Event(Resource.NODE, Action.UPDATE_NODE_TAINT),
            True,
            id="one of several actions",
        ),
        pytest.param(
            Retry(Resource.NODE, Action.UPDATE),
            Event(Resource.NODE, Action.UPDATE_NODE_LABEL),
            True,
            id="a particular update, for whoever waits for any",
        ),
        pytest.param(
            Retry(Resource.NODE, Action.UPDATE_NODE_LABEL),
            Event(Resource.NODE, Action.UPDATE),
            False,
            id="a general update is not for whoever waits for a particular one",
        ),
        pytest.param(
            Retry(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION | Action.ADD),
            Event(Resource.TARGET_POD, Action.UPDATE),
            False,
            id="not even with an addition beside it",
        ),
        pytest.param(
            Retry(Resource.TARGET_POD, Action.UPDATE),
            Event(Resource.TARGET_POD, Action.UPDATE),
            True,
            id="a general update, for whoever waits for any",
        ),
        pytest.param(
            Retry(Resource.POD, Action.DELETE), Event(Resource.ASSIGNED_POD, Action.DELETE), True, id="pods: placed"
        ),
        pytest.param(
            Retry(Resource.POD, Action.ADD), Event(Resource.UNSCHEDULED_POD, Action.ADD), True, id="pods: waiting"
        ),
        pytest.param(
            Retry(Resource.POD, Action.UPDATE_POD_LABEL),
            Event(Resource.TARGET_POD, Action.UPDATE_POD_LABEL),
            True,
            id="pods: the pod itself",
        ),
        pytest.param(
            Retry(Resource.ASSIGNED_POD, Action.ADD),
            Event(Resource.UNSCHEDULED_POD, Action.ADD),
            False,
            id="placed pods only",
        ),
        pytest.param(
            Retry(Resource.ASSIGNED_POD, Action.ALL), Event(Resource.POD, Action.ADD), False, id="not the other way"
        ),
        pytest.param(Retry(Resource.EVERYTHING, Action.ADD), Event(Resource.NODE, Action.ADD), True, id="any resource"),
        pytest.param(
            Retry(Resource.EVERYTHING, Action.ADD),
            Event(Resource.NODE, Action.DELETE),
            False,
            id="any resource, but not any action",
        ),
        pytest.param(ANYTHING, Event(Resource.DEVICE_CLASS, Action.DELETE), True, id="anything"),
        pytest.param(
            Retry(Resource.NODE, Action.ALL), UNSCHEDULABLE_TIMEOUT, False, id="an event of everything is no node's"
        ),
    ],
)
def test_matching(retry: Retry, event: Event, expected: bool) -> None:
    assert retry.matches(event) is expected


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Event(Resource.ASSIGNED_POD, Action.DELETE), "AssignedPodDelete"),
        (Event(Resource.NODE, Action.UPDATE_NODE_TAINT), "NodeUpdateNodeTaint"),
        (Event(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION), "TargetPodUpdatePodToleration"),
        (Event(Resource.TARGET_POD, Action.UPDATE), "TargetPodUpdate"),
        (Event(Resource.CSI_NODE, Action.ADD), "storage.k8s.io/CSINodeAdd"),
        (Event(Resource.NODE, Action.ALL), "NodeAll"),
        (UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
        (FORCE_ACTIVATE, "ForceActivate"),
    ],
)
def test_names_are_those_of_kube_scheduler(event: Event, expected: str) -> None:
    assert event.name == expected


def test_wildcards() -> None:
    assert all(event.is_wildcard for event in (UNSCHEDULABLE_TIMEOUT, FORCE_ACTIVATE, PROFILES_CHANGED))
    assert not Event(Resource.EVERYTHING, Action.ADD).is_wildcard
    assert not Event(Resource.NODE, Action.ALL).is_wildcard


def test_an_extender_is_not_asked_about_what_kube_scheduler_leaves_out() -> None:
    assert any(retry.matches(Event(Resource.NODE, Action.UPDATE_NODE_ANNOTATION)) for retry in EXTENDER_RETRIES)
    assert not any(retry.matches(Event(Resource.RESOURCE_SLICE, Action.ADD)) for retry in EXTENDER_RETRIES)
