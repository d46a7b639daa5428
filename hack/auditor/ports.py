"""Host ports: which pods use which, and which conflict."""

from collections.abc import Iterable
from typing import NamedTuple

from auditor.demand import Manifest, is_sidecar

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 (compared, never listened on)


class HostPort(NamedTuple):
    """One port that a pod takes on its node."""

    protocol: str
    address: str
    port: int

    def __str__(self) -> str:
        return f"{self.protocol} {self.address}:{self.port}"


def host_ports(spec: Manifest) -> frozenset[HostPort]:
    """Return the host ports of everything in the pod that keeps running."""
    sidecars = [init for init in spec.get("initContainers") or () if is_sidecar(init)]
    return frozenset(
        HostPort(port.get("protocol") or "TCP", port.get("hostIP") or EVERY_ADDRESS, port["hostPort"])
        for container in [*(spec.get("containers") or ()), *sidecars]
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


def conflict(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> HostPort | None:
    """Return a wanted port that is already taken, the first in order, or None."""
    held = list(taken)
    clashes = (port for port in sorted(wanted) if any(clash(port, other) for other in held))
    return next(clashes, None)


def clash(one: HostPort, other: HostPort) -> bool:
    """Return whether two ports conflict."""
    if (one.protocol, one.port) != (other.protocol, other.port):
        return False
    return one.address == other.address or EVERY_ADDRESS in (one.address, other.address)
