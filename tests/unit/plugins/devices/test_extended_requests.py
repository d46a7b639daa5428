from collections.abc import Mapping

import pytest

from pilotage.kinds.devices import DeviceClass, DeviceClassSpec
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.device_classes import DeviceClasses
from pilotage.plugins.devices.dynamic_resources.extended_requests import (
    MOST_BITS,
    ExtendedDemand,
    RequestMapping,
    Served,
    extended_demand,
    variant_of,
)
from pilotage.testing import FakeCluster, Manifest, make_node, make_pod

R, R1, RINIT = "example.com/r", "example.com/r1", "example.com/rinit"
SERVED = {R: "class", R1: "class1", RINIT: "classInit"}
PLUG = "example.com/plug"


def container(name: str, *, sidecar: bool = False, **requests: int | str) -> Manifest:
    short = {"r": R, "r1": R1, "rinit": RINIT, "plug": PLUG}
    asked = {short.get(resource, resource): amount for resource, amount in requests.items()}
    restart = {"restartPolicy": "Always"} if sidecar else {}
    return {"name": name, "image": "none", "resources": {"requests": asked}, **restart}


def pod_of(*containers: Manifest, init: tuple[Manifest, ...] = ()) -> Pod:
    return make_pod("web", spec={"initContainers": list(init), "containers": list(containers)})


def classes_of(served: Mapping[str, str]) -> DeviceClasses:
    classes = [
        DeviceClass(Metadata(name=name), spec=DeviceClassSpec(extended_resource_name=resource))
        for resource, name in served.items()
    ]
    return DeviceClasses(FakeCluster(objects=classes).cache.objects)


def requests_of(pod: Pod, served: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return requests as `container-0-request-0: class x 1`, and mappings as `con0/example.com/r -> ...`."""
    demand = extended_demand(pod, classes_of(served))
    assert demand is not None
    variant = variant_of(pod, demand.served)
    requests = [
        f"{each.name}: {each.exactly.device_class_name} x {each.exactly.count}"
        for each in variant.requests
        if each.exactly is not None and each.exactly.allocation_mode == "ExactCount"
    ]
    return requests, [f"{each.container}/{each.resource} -> {each.request}" for each in variant.mappings]


@pytest.mark.parametrize(
    ("pod", "requests", "mappings"),
    [
        pytest.param(
            pod_of(container("con0", r=1, r1=2)),
            ["container-0-request-0: class x 1", "container-0-request-1: class1 x 2"],
            [f"con0/{R} -> container-0-request-0", f"con0/{R1} -> container-0-request-1"],
            id="two resources of a container",
        ),
        pytest.param(
            pod_of(container("con0", r=1), container("con1", r1=2)),
            ["container-0-request-0: class x 1", "container-1-request-0: class1 x 2"],
            [f"con0/{R} -> container-0-request-0", f"con1/{R1} -> container-1-request-0"],
            id="two containers",
        ),
        pytest.param(
            pod_of(container("con0", r=1), init=(container("init0", rinit=2),)),
            ["container-0-request-0: classInit x 2", "container-1-request-0: class x 1"],
            [f"con0/{R} -> container-1-request-0", f"init0/{RINIT} -> container-0-request-0"],
            id="an init container",
        ),
        pytest.param(
            pod_of(container("con0", r=1), init=(container("init0", rinit=1), container("init1", rinit=2))),
            ["container-1-request-0: classInit x 2", "container-2-request-0: class x 1"],
            [
                f"con0/{R} -> container-2-request-0",
                f"init0/{RINIT} -> container-1-request-0",
                f"init1/{RINIT} -> container-1-request-0",
            ],
            id="init containers take turns with the largest request",
        ),
        pytest.param(
            pod_of(container("con0", r=1), init=(container("init0", rinit=2), container("init1", rinit=2))),
            ["container-0-request-0: classInit x 2", "container-2-request-0: class x 1"],
            [
                f"con0/{R} -> container-2-request-0",
                f"init0/{RINIT} -> container-0-request-0",
                f"init1/{RINIT} -> container-0-request-0",
            ],
            id="of equal init containers the first one has the request",
        ),
        pytest.param(
            pod_of(
                container("con0", r=1),
                init=(
                    container("init0", rinit=1),
                    container("sidecar1", sidecar=True, rinit=1),
                    container("init2", rinit=2),
                ),
            ),
            [
                "container-1-request-0: classInit x 1",
                "container-2-request-0: classInit x 2",
                "container-3-request-0: class x 1",
            ],
            [
                f"con0/{R} -> container-3-request-0",
                f"sidecar1/{RINIT} -> container-1-request-0",
                f"init0/{RINIT} -> container-1-request-0",
                f"init2/{RINIT} -> container-2-request-0",
            ],
            id="an init container uses the devices of a later sidecar, not of an earlier one",
        ),
        pytest.param(
            pod_of(container("con0", r=1), container("con1", r=3), init=(container("init0", r=5),)),
            [
                "container-0-request-0: class x 1",
                "container-1-request-0: class x 1",
                "container-2-request-0: class x 3",
            ],
            [
                f"con0/{R} -> container-1-request-0",
                f"con1/{R} -> container-2-request-0",
                f"init0/{R} -> container-1-request-0",
                f"init0/{R} -> container-2-request-0",
                f"init0/{R} -> container-0-request-0",
            ],
            id="an init container uses all later devices, and more",
        ),
        pytest.param(
            pod_of(container("con0", r=1), container("con1", r=3), init=(container("init0", r=1),)),
            ["container-1-request-0: class x 1", "container-2-request-0: class x 3"],
            [
                f"con0/{R} -> container-1-request-0",
                f"con1/{R} -> container-2-request-0",
                f"init0/{R} -> container-1-request-0",
            ],
            id="an init container stops when it has enough",
        ),
        pytest.param(
            pod_of(container("con0", cpu=1, r=1)),
            ["container-0-request-1: class x 1"],
            [f"con0/{R} -> container-0-request-1"],
            id="the second number counts all requests of the container",
        ),
        pytest.param(
            pod_of(*(container(f"con{i}", r=1 if i in (2, 10) else 0) for i in range(11))),
            ["container-10-request-0: class x 1", "container-2-request-0: class x 1"],
            [f"con2/{R} -> container-2-request-0", f"con10/{R} -> container-10-request-0"],
            id="requests are sorted as text",
        ),
        pytest.param(
            pod_of(container("con0", r="1k"), container("con1", r=0)),
            ["container-0-request-0: class x 1000"],
            [f"con0/{R} -> container-0-request-0"],
            id="a suffix, and a container that requests none",
        ),
    ],
)
def test_requests_and_mappings(pod: Pod, requests: list[str], mappings: list[str]) -> None:
    assert requests_of(pod, SERVED) == (requests, mappings)


def test_the_implicit_name_of_a_class() -> None:
    pod = make_pod("web", requests={"deviceclass.resource.kubernetes.io/gpu": 2})
    demand = extended_demand(pod, classes_of({PLUG: "gpu"}))
    assert demand == ExtendedDemand((Served("deviceclass.resource.kubernetes.io/gpu", "gpu"),), ())


@pytest.mark.parametrize(
    ("pod", "demand"),
    [
        pytest.param(make_pod("web", cpu=1), None, id="a pod without extended resources"),
        pytest.param(make_pod("web", requests={PLUG: 1}), None, id="a resource that no class serves"),
        pytest.param(make_pod("web", requests={R: 0}), None, id="a request of nothing"),
        pytest.param(make_pod("web", requests={R: 1}), ExtendedDemand((Served(R, "class"),), ()), id="a resource"),
        pytest.param(
            make_pod("web", requests={R: 1, PLUG: 1, "hugepages-2Mi": "2Mi"}),
            ExtendedDemand((Served(R, "class"),), (PLUG,)),
            id="one that a class serves and one that none does",
        ),
    ],
)
def test_demand_of_a_pod(pod: Pod, demand: ExtendedDemand | None) -> None:
    assert extended_demand(pod, classes_of(SERVED)) == demand


@pytest.mark.parametrize(
    ("demand", "allocatable", "served"),
    [
        pytest.param(ExtendedDemand((Served(R, "class"),), ()), {}, (R,), id="a node without the resource"),
        pytest.param(ExtendedDemand((Served(R, "class"),), ()), {R: 0}, (R,), id="a node that has 0 of it"),
        pytest.param(ExtendedDemand((Served(R, "class"),), ()), {R: 1}, (), id="a node with a device plugin"),
        pytest.param(
            ExtendedDemand((Served(R, "class"), Served(R1, "class1")), ()), {R: 1}, (R1,), id="a node with one of two"
        ),
        pytest.param(ExtendedDemand((Served(R, "class"),), (PLUG,)), {}, None, id="a node that cannot fit the rest"),
        pytest.param(
            ExtendedDemand((Served(R, "class"),), (PLUG,)), {PLUG: 0}, (R,), id="a node that has 0 of the rest"
        ),
        pytest.param(ExtendedDemand((Served(R, "class"),), (PLUG,)), {PLUG: 2}, (R,), id="a node that has the rest"),
    ],
)
def test_what_devices_serve_on_a_node(
    demand: ExtendedDemand, allocatable: Mapping[str, int], served: tuple[str, ...] | None
) -> None:
    cluster = FakeCluster(
        nodes=[make_node("n1", allocatable=allocatable), make_node("n2", allocatable={R: 5, PLUG: 5})]
    )
    nodes = cluster.cache.nodes()
    alone = demand.on_node(nodes[0].node)
    assert (None if alone is None else tuple(each.resource for each in alone)) == served
    places, answers = demand.on_nodes(nodes)
    assert [answers[place] for place in places.tolist()] == [demand.on_node(node.node) for node in nodes]


def test_more_resources_than_bits() -> None:
    names = [f"example.com/r{i:03}" for i in range(MOST_BITS + 10)]
    demand = ExtendedDemand(tuple(Served(name, "class") for name in names), ())
    nodes = FakeCluster(
        nodes=[make_node("n1", allocatable={names[0]: 1}), make_node("n2", allocatable={names[-1]: 1}), make_node("n3")]
    ).cache.nodes()
    places, answers = demand.on_nodes(nodes)
    assert [answers[place] for place in places.tolist()] == [demand.on_node(node.node) for node in nodes]


def test_a_variant_is_made_once_for_equal_pods() -> None:
    one, other = make_pod("one", requests={R: 1}), make_pod("other", requests={R: 1})
    served = (Served(R, "class"),)
    assert variant_of(one, served) is variant_of(other, served)
    assert variant_of(one, ()).requests == ()
    assert variant_of(one, served).mappings == (RequestMapping("main", R, "container-0-request-0"),)
