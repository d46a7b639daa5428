from typing import Any

import pytest

from auditor.ports import HostPort, conflict, host_ports

ANYWHERE = "0.0.0.0"  # noqa: S104 (compared, never listened on)  # noqa: S104 (compared, never listened on)


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        pytest.param(("TCP", ANYWHERE, 80), ("TCP", ANYWHERE, 80), True, id="the same door twice"),
        pytest.param(("TCP", ANYWHERE, 80), ("TCP", ANYWHERE, 81), False, id="two ports"),
        pytest.param(("TCP", ANYWHERE, 80), ("UDP", ANYWHERE, 80), False, id="two protocols"),
        pytest.param(("TCP", ANYWHERE, 80), ("TCP", "10.0.0.1", 80), True, id="every address includes each one"),
        pytest.param(("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.2", 80), False, id="two addresses"),
        pytest.param(("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.1", 80), True, id="one address twice"),
        pytest.param(("TCP", "::", 80), ("TCP", "10.0.0.1", 80), False, id="the IPv6 wildcard is an ordinary address"),
    ],
)
def test_conflict(one: tuple[str, str, int], other: tuple[str, str, int], clash: bool) -> None:
    assert bool(conflict([HostPort(*one)], [HostPort(*other)])) is clash
    assert bool(conflict([HostPort(*other)], [HostPort(*one)])) is clash


def with_port(**port: Any) -> dict[str, Any]:
    return {"ports": [port]}


@pytest.mark.parametrize(
    ("spec", "ports"),
    [
        pytest.param({"containers": [with_port(containerPort=80)]}, set(), id="a container port is no host port"),
        pytest.param(
            {"containers": [with_port(hostPort=80)]}, {HostPort("TCP", ANYWHERE, 80)}, id="defaults are filled in"
        ),
        pytest.param({"initContainers": [with_port(hostPort=80)]}, set(), id="an init container's port is not held"),
        pytest.param(
            {
                "initContainers": [
                    {"restartPolicy": "Always", **with_port(hostPort=80, protocol="UDP", hostIP="1.2.3.4")}
                ]
            },
            {HostPort("UDP", "1.2.3.4", 80)},
            id="a sidecar's port is held",
        ),
    ],
)
def test_host_ports(spec: dict[str, Any], ports: set[HostPort]) -> None:
    assert host_ports(spec) == ports
