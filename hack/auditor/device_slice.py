"""Slices of pools of devices, with the amounts that the rules use."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from auditor.claim import Device
from auditor.demand import Manifest, Note, amounts

Amounts = dict[str, Fraction]
Counters = dict[tuple[str, str], Fraction]  # (counter set, counter) -> amount


@dataclass(frozen=True, slots=True)
class DeviceSlice:
    """One version of one slice, decoded; two versions are equal when no rule could tell them apart."""

    name: str
    version: str = field(compare=False)
    pool: tuple[str, str]  # driver and name
    generation: int
    capacities: dict[Device, Amounts]
    consumption: dict[Device, Counters]  # what each device takes of the counters of its pool
    counters: Counters


def slice_of(raw: dict[str, Any], note: Note) -> DeviceSlice:
    """Decode a slice as the API returns it."""
    meta, spec = raw["metadata"], raw["spec"]
    driver, pool = spec["driver"], spec["pool"]

    def said(text: str) -> None:
        note(f"slice {meta['name']}: {text}")

    devices = {Device(driver, pool["name"], one["name"]): one for one in spec.get("devices") or ()}
    return DeviceSlice(
        name=meta["name"],
        version=meta.get("resourceVersion", ""),
        pool=(driver, pool["name"]),
        generation=pool.get("generation") or 0,
        capacities={device: values(one.get("capacity"), said) for device, one in devices.items()},
        consumption={device: counted(one, said) for device, one in devices.items()},
        counters={
            (one["name"], name): amount
            for one in spec.get("sharedCounters") or ()
            for name, amount in values(one.get("counters"), said).items()
        },
    )


def counted(device: Manifest, note: Note) -> Counters:
    """Return what a device takes of the counters of its pool."""
    return {
        (one["counterSet"], name): amount
        for one in device.get("consumesCounters") or ()
        for name, amount in values(one.get("counters"), note).items()
    }


def values(raw: Manifest | None, note: Note) -> Amounts:
    """Return the amounts of capacities or counters, which have other fields beside."""
    return amounts({name: one.get("value") for name, one in (raw or {}).items()}, note)
