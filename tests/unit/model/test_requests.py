"""What a pod asks for, sentence by sentence: containers, sidecars, init containers, overhead, whole pods, resizes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.model.pod import Pod
from pilotage.model.pod_spec import Amounts
from pilotage.model.requests import counted, is_as_asked, is_extended, is_scalar, is_tracked, scored_requests, usage
from pilotage.testing.objects import make_pod

MI, GI = 1 << 20, 1 << 30
CPU, MEMORY = 100, 200 * MI  # what a container without requests counts as

Wants = dict[str, Any]


def container(name: str = "main", /, *, always: bool = False, **requests: str) -> Wants:
    found: Wants = {"name": name, "resources": {"requests": {key.replace("_", "-"): v for key, v in requests.items()}}}
    return found | ({"restartPolicy": "Always"} if always else {})


def sidecar(name: str, /, **requests: str) -> Wants:
    return container(name, always=True, **requests)


def pod(*containers: Wants, init: tuple[Wants, ...] = (), status: Wants | None = None, **spec: Any) -> Pod:
    return make_pod(spec={"containers": containers, "initContainers": init, **spec}, status=status)


def whole(**requests: str) -> Wants:
    return {"requests": requests}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(pod(container()), {}, id="a container without requests asks for nothing"),
        pytest.param(pod(container(cpu="1"), container(cpu="500m", memory="1Ki")), {"cpu": 1500, "memory": 1024},
                     id="containers run together and add up"),
        pytest.param(pod(container(cpu="0")), {"cpu": 0}, id="an explicit zero is there"),
        pytest.param(pod(container(cpu="1"), init=(container("i", cpu="2"), container("j", cpu="3"))), {"cpu": 3000},
                     id="init containers run one by one: the largest counts"),
        pytest.param(pod(container(cpu="3"), init=(container("i", cpu="2", memory="7"),)), {"cpu": 3000, "memory": 7},
                     id="each resource has its own peak"),
        pytest.param(pod(container(cpu="1"), init=(sidecar("s", cpu="1"), sidecar("t", cpu="1"))), {"cpu": 3000},
                     id="sidecars run beside the containers"),
        pytest.param(
            pod(container(cpu="1"), init=(container("i1", cpu="2"), sidecar("s", cpu="500m"),
                                          container("i2", cpu="1800m"))),
            {"cpu": 2300}, id="an init container runs beside the sidecars that started before it",
        ),
        pytest.param(pod(container(cpu="1"), init=(container("i", cpu="2500m"), sidecar("s", cpu="1"))), {"cpu": 2500},
                     id="and not beside those that start after it"),
        pytest.param(pod(container(cpu="1m", memory="1"), overhead={"cpu": "1m", "memory": "15"}),
                     {"cpu": 2, "memory": 16}, id="overhead is added"),
        pytest.param(pod(container(), overhead={"memory": "5"}), {"memory": 5}, id="overhead alone"),
        pytest.param(pod(container(cpu="1m"), resources=whole(cpu="7m")), {"cpu": 7},
                     id="requests of the whole pod replace those of its containers"),
        pytest.param(pod(container(cpu="9m", memory="9"), resources=whole(cpu="7m")), {"cpu": 7, "memory": 9},
                     id="even larger ones, but only for the resources that they name"),
        pytest.param(pod(container(), resources=whole(cpu="7m"), overhead={"cpu": "1m"}), {"cpu": 8},
                     id="overhead comes on top of the whole pod"),
        pytest.param(pod(container(), resources={"requests": {"hugepages-2Mi": "4Mi"}}), {"hugepages-2Mi": 4 * MI},
                     id="a whole pod can ask for huge pages"),
        pytest.param(
            pod(container(), resources={"requests": {"example.com/gpu": "1", "ephemeral-storage": "1Gi"}}), {},
            id="but for no other resource"),
        pytest.param(pod(container(), resources={"limits": {"cpu": "4"}}), {}, id="limits of a whole pod do not count"),
        pytest.param(pod(container(cpu="100u")), {"cpu": 1}, id="a part of a thousandth of a cpu is a thousandth"),
        pytest.param(pod(container(memory="100m")), {"memory": 1}, id="a part of a byte is a byte"),
        pytest.param(pod(container(memory="1500m"), container(memory="500m")), {"memory": 2},
                     id="fractions add up before they are rounded"),
        pytest.param(pod(container(ephemeral_storage="1Ki")), {"ephemeral-storage": 1024}, id="storage is in bytes"),
        pytest.param(
            pod({"name": "main", "resources": {"requests": {"example.com/gpu": "2", "storage": "1", "pods": "3"}}}),
            {"example.com/gpu": 2}, id="names that no node accounts for are overlooked"),
    ],
)  # fmt: skip
def test_a_pending_pod_needs(given: Pod, expected: dict[str, int]) -> None:
    assert given.requests == expected
    assert given.usage == expected  # a placed pod without a status takes the same


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(pod(container()), (CPU, MEMORY), id="no requests: both defaults"),
        pytest.param(pod(container(cpu="0", memory="0")), (0, 0), id="explicit zeros stay zeros"),
        pytest.param(pod(container(cpu="1")), (1000, MEMORY), id="one named: the other by default"),
        pytest.param(pod(container(), container(cpu="50m")), (150, 2 * MEMORY), id="each container for itself"),
        pytest.param(pod(container(cpu="0", memory="0"), init=(container("i"),)), (CPU, MEMORY),
                     id="init containers get them too"),
        pytest.param(pod(container(), init=(sidecar("s"),)), (2 * CPU, 2 * MEMORY), id="and so do sidecars"),
        pytest.param(pod(container(), overhead={"cpu": "10m"}), (CPU + 10, MEMORY), id="overhead comes on top"),
        pytest.param(pod(), (0, 0), id="no containers: nothing"),
    ],
)  # fmt: skip
def test_defaults_stand_in_for_missing_requests(given: Pod, expected: tuple[int, int]) -> None:
    assert given.nonzero_usage == expected
    scored = scored_requests(given.spec)
    assert (scored.get("cpu", 0), scored.get("memory", 0)) == expected


@pytest.mark.parametrize(
    ("given", "placed", "scored"),
    [
        pytest.param(pod(container(), resources=whole(cpu="2", memory="4Gi")), (2000, 4 * GI), (CPU, MEMORY),
                     id="the score of an incoming pod is blind to what the whole pod asks for"),
        pytest.param(pod(container(), resources=whole(memory="1Gi")), (CPU, GI), (CPU, MEMORY),
                     id="a resource that even the whole pod does not name gets its default"),
        pytest.param(pod(container("a"), container("b"), resources=whole(memory="1Gi")), (2 * CPU, GI),
                     (2 * CPU, 2 * MEMORY), id="once for each container"),
        pytest.param(pod(container("a", cpu="1"), container("b"), resources=whole(memory="1Gi")), (1000, GI),
                     (1000 + CPU, 2 * MEMORY), id="but none if any container names it"),
        pytest.param(pod(container(), resources=whole(memory="1Gi"), overhead={"cpu": "1m"}), (1, GI),
                     (CPU + 1, MEMORY), id="nor if the overhead names it"),
        pytest.param(pod(container(), resources={"requests": {"ephemeral-storage": "1"}}), (CPU, MEMORY),
                     (CPU, MEMORY), id="what a whole pod cannot ask for does not make it one that asks"),
    ],
)  # fmt: skip
def test_defaults_beside_requests_of_the_whole_pod(
    given: Pod, placed: tuple[int, int], scored: tuple[int, int]
) -> None:
    assert given.nonzero_usage == placed
    found = scored_requests(given.spec)
    assert (found["cpu"], found["memory"]) == scored


def allocated(name: str = "main", /, **requests: str) -> Wants:
    return {"name": name, "allocatedResources": requests}


def actual(name: str = "main", /, **requests: str) -> Wants:
    return {"name": name, "resources": {"requests": requests}}


INFEASIBLE = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}
DEFERRED = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]}
ASKS = container(cpu="700m", memory="8")


@pytest.mark.parametrize(
    ("given", "taken", "nonzero"),
    [
        pytest.param(pod(ASKS, status={"containerStatuses": [actual(cpu="500m", memory="5")]}),
                     {"cpu": 700, "memory": 8}, (700, 8), id="growing: what is asked is larger"),
        pytest.param(pod(ASKS, status={"containerStatuses": [allocated(cpu="900m", memory="5")]}),
                     {"cpu": 900, "memory": 8}, (900, 8), id="shrinking: what was nominated is larger"),
        pytest.param(pod(ASKS, status={"containerStatuses": [allocated(cpu="1") | actual(cpu="1200m", memory="9")]}),
                     {"cpu": 1200, "memory": 9}, (1200, MEMORY),
                     id="what is still in use is larger; a list without memory has the default in scores"),
        pytest.param(pod(ASKS, status=DEFERRED | {"containerStatuses": [actual(cpu="500m", memory="5")]}),
                     {"cpu": 700, "memory": 8}, (700, 8), id="a deferred resize counts"),
        pytest.param(pod(ASKS, status=INFEASIBLE | {"containerStatuses": [actual(cpu="500m", memory="5")]}),
                     {"cpu": 500, "memory": 5}, (500, MEMORY),
                     id="an infeasible one does not; nothing nominated has the defaults in scores"),
        pytest.param(pod(ASKS, status=INFEASIBLE | {"containerStatuses": [allocated(cpu="500m", memory="5")]}),
                     {"cpu": 500, "memory": 5}, (500, 5), id="what was nominated is also what is used, if nobody says"),
        pytest.param(pod(ASKS, status=INFEASIBLE), {}, (CPU, MEMORY), id="infeasible and nothing known: nothing"),
        pytest.param(pod(ASKS, status={"containerStatuses": [{"name": "main", "resources": {}}]}),
                     {"cpu": 700, "memory": 8}, (700, 8), id="resources without requests say nothing"),
        pytest.param(pod(ASKS, status={"containerStatuses": [actual("other", cpu="9")]}), {"cpu": 700, "memory": 8},
                     (700, 8), id="a status belongs to the container of its name"),
        pytest.param(pod(ASKS, init=(sidecar("s", cpu="1"),),
                         status={"initContainerStatuses": [actual("s", cpu="2", memory="1")]}),
                     {"cpu": 2700, "memory": 9}, (2700, 8 + MEMORY), id="sidecars can be resized too"),
        pytest.param(pod(ASKS, status={"containerStatuses": [actual(cpu="900m", memory="1")]}, overhead={"cpu": "1m"}),
                     {"cpu": 901, "memory": 8}, (901, 8), id="overhead comes on top of the largest"),
        pytest.param(pod(ASKS, status={"allocatedResources": {"cpu": "2", "memory": "1"},
                                       "resources": whole(cpu="1", memory="9"),
                                       "containerStatuses": [actual(cpu="5", memory="50")]}),
                     {"cpu": 2000, "memory": 9}, (2000, 9), id="a pod-level status stands for those of containers"),
        pytest.param(pod(ASKS, status={"allocatedResources": {"cpu": "2"}, "resources": {},
                                       "containerStatuses": [actual(cpu="5", memory="8")]}),
                     {"cpu": 5000, "memory": 8}, (5000, 8), id="but not half of one"),
        pytest.param(pod(ASKS, resources=whole(cpu="1"), status={"resources": whole(cpu="3"),
                                                                 "allocatedResources": {"cpu": "2", "memory": "9"}}),
                     {"cpu": 3000, "memory": 9}, (3000, 9), id="the whole pod takes the largest of all three"),
        pytest.param(pod(ASKS, resources=whole(cpu="4"),
                         status=INFEASIBLE | {"resources": whole(cpu="3"), "allocatedResources": {"cpu": "2"}}),
                     {"cpu": 3000}, (3000, 0), id="without what is infeasible; a pod-level status gets no defaults"),
        pytest.param(pod(ASKS, resources=whole(cpu="1"), status={"resources": {}}), {"cpu": 1000, "memory": 8},
                     (1000, 8), id="a pod-level status that says nothing"),
        pytest.param(pod(ASKS, status={"resources": whole(cpu="3")}), {"cpu": 700, "memory": 8}, (700, 8),
                     id="a pod-level status of a pod that asks by container alone"),
    ],
)  # fmt: skip
def test_a_placed_pod_takes(given: Pod, taken: dict[str, int], nonzero: tuple[int, int]) -> None:
    assert given.usage == taken
    assert given.nonzero_usage == nonzero


def test_a_pending_pod_is_not_measured_by_its_status() -> None:
    given = pod(ASKS, status={"containerStatuses": [actual(cpu="5")]})
    assert given.requests == {"cpu": 700, "memory": 8}
    assert scored_requests(given.spec) == {"cpu": 700, "memory": 8}


AMOUNTS = st.fixed_dictionaries({}, optional={name: st.sampled_from(["0", "1", "2"]) for name in ("cpu", "memory")})


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), min_size=1, max_size=3))
def test_a_status_that_says_nothing_new_changes_nothing(amounts: list[tuple[Wants, Wants, Wants]]) -> None:
    given = pod(
        *(container(f"c{i}", **asked) for i, (asked, _, _) in enumerate(amounts)),
        status={
            "containerStatuses": [
                allocated(f"c{i}", **nominated) | actual(f"c{i}", **used)
                for i, (_, nominated, used) in enumerate(amounts)
            ]
        },
    )
    if is_as_asked(given.spec, given.status):
        assert usage(given.spec, given.status) == (given.shape.requests, given.shape.nonzero_requests)
    else:
        assert any(nominated not in ({}, asked) or used not in ({}, asked) for asked, nominated, used in amounts)


@pytest.mark.parametrize(
    ("name", "tracked", "scalar", "extended"),
    [
        ("cpu", True, False, False),
        ("ephemeral-storage", True, False, False),
        ("pods", False, False, False),
        ("storage", False, False, False),
        ("example.com/gpu", True, True, True),
        ("hugepages-2Mi", True, True, False),
        ("attachable-volumes-aws-ebs", True, True, False),
        ("kubernetes.io/something", True, True, False),
        ("sub.kubernetes.io/something", True, True, False),
        ("requests.example.com/gpu", False, False, False),
        ("example.com/not a name", False, False, False),
        ("a/b/c", False, False, False),
        (f"{'a' * 245}/x", False, False, False),  # a valid name, but not once a quota has added its prefix
    ],
)
def test_kinds_of_resources(name: str, tracked: bool, scalar: bool, extended: bool) -> None:
    assert (is_tracked(name), is_scalar(name), is_extended(name)) == (tracked, scalar, extended)


def test_a_node_is_counted_with_its_places_for_pods() -> None:
    amounts: Amounts = {"cpu": "1500m", "memory": "1Ki", "pods": 110, "storage": "5", "example.com/gpu": 2}
    assert counted(amounts) == {"cpu": 1500, "memory": 1024, "pods": 110, "example.com/gpu": 2}
