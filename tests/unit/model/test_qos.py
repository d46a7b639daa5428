"""QoS classes as Kubernetes computes them."""

from typing import Any

import pytest

from pilotage.model.qos import QOSClass, qos_of
from pilotage.testing import Manifest, make_pod

BOTH = {"cpu": "100m", "memory": "100Mi"}
MORE = {"cpu": "200m", "memory": "100Mi"}


def asking(requests: Manifest | None = None, limits: Manifest | None = None, **fields: Any) -> Manifest:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}, **fields}


def containers(*several: Manifest, init: tuple[Manifest, ...] = (), whole: Manifest | None = None) -> Manifest:
    return {"containers": list(several), "initContainers": list(init), "resources": whole or {}}


@pytest.mark.parametrize(
    ("spec", "qos"),
    [
        pytest.param(containers(asking(BOTH, BOTH)), "Guaranteed", id="requests are the limits"),
        pytest.param(containers(asking(BOTH, BOTH), asking(MORE, MORE)), "Guaranteed", id="in all containers"),
        pytest.param(containers(asking({}, BOTH)), "Guaranteed", id="limits alone, which are requests too"),
        pytest.param(
            containers(asking({"cpu": 1, "memory": "1Gi"}, {"cpu": "1000m", "memory": 1 << 30})),
            "Guaranteed",
            id="equal amounts that are written in other ways",
        ),
        pytest.param(
            containers(asking(BOTH | {"example.com/gpu": 1}, BOTH)), "Guaranteed", id="other resources play no part"
        ),
        pytest.param(containers(asking()), "BestEffort", id="nothing at all"),
        pytest.param(containers(), "BestEffort", id="no container"),
        pytest.param(
            containers(asking({"example.com/gpu": 1}, {"example.com/gpu": 1})), "BestEffort", id="other resources alone"
        ),
        pytest.param(containers(asking({"cpu": 0, "memory": "0"}, {"cpu": 0})), "BestEffort", id="zeros are nothing"),
        pytest.param(containers(asking({"cpu": "much"}, {"memory": "-"})), "BestEffort", id="what is no quantity"),
        pytest.param(containers(asking(BOTH)), "Burstable", id="no limits"),
        pytest.param(containers(asking(BOTH, MORE)), "Burstable", id="limits above requests"),
        pytest.param(containers(asking({"cpu": 1}, {"cpu": 1})), "Burstable", id="one resource alone"),
        pytest.param(
            containers(asking({"cpu": 0, "memory": "1Gi"}, {"cpu": 1, "memory": "1Gi"})),
            "Burstable",
            id="a request of zero is no request",
        ),
        pytest.param(containers(asking(BOTH, BOTH), asking()), "Burstable", id="a container without limits"),
        pytest.param(containers(asking(BOTH, BOTH), init=(asking(),)), "Burstable", id="an init container without"),
        pytest.param(containers(asking(BOTH, BOTH), init=(asking(BOTH, BOTH),)), "Guaranteed", id="one with limits"),
        pytest.param(
            containers(asking(BOTH, BOTH), init=(asking(BOTH, MORE, restartPolicy="Always"),)),
            "Burstable",
            id="a sidecar with more",
        ),
        pytest.param(containers(asking(), init=(asking({"cpu": 1}),)), "Burstable", id="an init container alone"),
        pytest.param(
            containers(asking(), whole={"requests": BOTH, "limits": BOTH}),
            "Guaranteed",
            id="the pod as a whole, whatever its containers say",
        ),
        pytest.param(
            containers(asking(BOTH, BOTH), whole={"requests": BOTH, "limits": MORE}),
            "Burstable",
            id="the pod as a whole, against its containers",
        ),
        pytest.param(containers(asking(BOTH, BOTH), whole={"requests": MORE}), "Burstable", id="without limits"),
        pytest.param(containers(asking(), whole={"limits": BOTH}), "Guaranteed", id="with limits alone"),
        pytest.param(
            containers(asking({"cpu": "50m"}), whole={"limits": BOTH}),
            "Burstable",
            id="with limits alone, where containers ask for less",
        ),
        pytest.param(containers(asking(BOTH, BOTH), whole={"limits": {"cpu": 1}}), "Burstable", id="with one limit"),
    ],
)
def test_classes(spec: Manifest, qos: str) -> None:
    assert qos_of(make_pod(spec=spec)) == qos


def test_what_the_api_server_noted_counts() -> None:
    assert qos_of(make_pod(status={"qosClass": "Guaranteed"})) is QOSClass.GUARANTEED
    assert qos_of(make_pod(status={"qosClass": "Strange"})) is QOSClass.BEST_EFFORT
