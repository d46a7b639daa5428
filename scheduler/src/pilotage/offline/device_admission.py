"""The defaulting of an API server for new claims and slices, and the conversion from their older versions."""

from collections.abc import Iterable, Iterator
from typing import Any

from pilotage.kinds.devices import EXACT_COUNT

Manifest = dict[str, Any]

OLDEST = "v1beta1"
OPERATOR = "Equal"
# What a request of v1beta1 has itself, and one of later versions in `exactly`.
OF_EXACTLY = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")


def complete_claim_spec(spec: Manifest, version: str = "") -> None:
    """Set the defaults of a claim's requests."""
    for request in _listed(spec.get("devices"), "requests"):
        if version.endswith(OLDEST) and "deviceClassName" in request:
            request["exactly"] = {name: request.pop(name) for name in OF_EXACTLY if name in request}
        for each in _alternatives(request):
            if each.setdefault("allocationMode", EXACT_COUNT) == EXACT_COUNT:
                each.setdefault("count", 1)
            for toleration in _listed(each, "tolerations"):
                toleration.setdefault("operator", OPERATOR)


def complete_slice(manifest: Manifest, version: str = "") -> None:
    """Convert the devices of a slice of an older version."""
    if version.endswith(OLDEST):
        for device in _listed(manifest.get("spec"), "devices"):
            basic = device.pop("basic", None)
            if isinstance(basic, dict):
                device |= basic


def _alternatives(request: Manifest) -> Iterator[Manifest]:
    exactly = request.get("exactly")
    if isinstance(exactly, dict):
        yield exactly
    yield from _listed(request, "firstAvailable")


def _listed(of: Any, name: str) -> Iterable[Manifest]:
    """Return the objects in a list, as far as it is one."""
    found = of.get(name) if isinstance(of, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else ()
