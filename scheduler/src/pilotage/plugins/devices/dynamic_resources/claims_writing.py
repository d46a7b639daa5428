"""Carries out what is decided about the claims of pods: on the API server, or in memory where there is none."""

import asyncio

from pilotage.framework.api.handle import Handle
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.devices import ResourceClaim
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.binding_conditions import Preparations
from pilotage.plugins.devices.dynamic_resources.claim_bodies import without_devices
from pilotage.plugins.devices.dynamic_resources.claim_writer import ClaimWriter
from pilotage.plugins.devices.dynamic_resources.claims_ledger import ClaimsLedger, Flight
from pilotage.plugins.devices.dynamic_resources.device_cycle import DeviceCycle
from pilotage.plugins.devices.dynamic_resources.device_world import DeviceWorld
from pilotage.plugins.devices.dynamic_resources.pod_claims import claim_id
from pilotage.plugins.devices.dynamic_resources.special_writer import SpecialWriter


class ClaimsInMemory:
    """The claims of a process without an API server: nothing is written, what is decided is done at once."""

    def __init__(self, handle: Handle, claims: ClaimsLedger) -> None:
        self._handle = handle
        self._claims = claims

    def may_use(self, flight: Flight, pod: Pod) -> bool:
        """Return whether a pod can have devices that are chosen and not written: any can, no write is waited for."""
        return True

    def deallocate(self, claim: ResourceClaim, pod: Pod) -> None:
        """Free the devices of a claim."""
        self._claims.assume(freed := without_devices(claim))
        self._handle.announce(claim, freed)

    def delete(self, leftover: ResourceClaim, pod: Pod) -> None:
        """Forget the special claim of an earlier attempt."""
        self._claims.lose(claim_id(leftover))
        self._handle.announce(leftover, without_devices(leftover))

    def withdraw(self, state: DeviceCycle, pod: Pod) -> None:
        """Do nothing: nothing was written."""

    async def bind(self, state: DeviceCycle, pod: Pod, node: str) -> None:
        """Raise PluginFailed."""
        raise PluginFailed("allocating devices: this process cannot write to the API server")


class ClaimsWriting:
    """The claims of a process that writes them for the pods of one profile."""

    def __init__(self, handle: Handle, world: DeviceWorld, binding_seconds: float) -> None:
        self._claims = world.claims
        self._writer = ClaimWriter(handle, world.claims, world.lanes)
        self._special_writer = SpecialWriter(handle, world.claims, world.lanes, self._writer)
        self._preparations = Preparations(handle, world, binding_seconds)

    def may_use(self, flight: Flight, pod: Pod) -> bool:
        """Return whether a pod can have devices that are chosen and not written yet, without waiting for the write."""
        return flight.is_shared_with(pod)

    def deallocate(self, claim: ResourceClaim, pod: Pod) -> None:
        """Free the devices of a claim in the background."""
        self._writer.start_deallocation(claim, pod)

    def delete(self, leftover: ResourceClaim, pod: Pod) -> None:
        """Delete the special claim of an earlier attempt in the background."""
        self._special_writer.start_deletion(leftover, pod)

    def withdraw(self, state: DeviceCycle, pod: Pod) -> None:
        """Withdraw in the background what is written for a pod; the devices of its claims stay."""
        if state.is_binding:
            for claim in state.claims:
                self._writer.start_withdrawal(claim, pod)
        if state.created is not None:
            self._special_writer.start_deletion(state.created, pod)
            state.created = None

    async def bind(self, state: DeviceCycle, pod: Pod, node: str) -> None:
        """Write the claims of a pod, and wait until their devices are prepared."""
        if (special := state.special) is not None:
            state.create(await self._special_writer.create(special, pod, node))
        claims = [*state.claims, *([] if state.created is None else [state.created])]
        written = await self._reserve(claims, state, pod, node)
        if state.created is not None:
            await self._special_writer.tell(pod, node, state.created, state.mappings)
        await self._preparations.wait(pod, node, written)
        for claim in claims:
            self._claims.finish(claim_id(claim))
            self._writer.finish(claim, pod)

    async def _reserve(
        self, claims: list[ResourceClaim], state: DeviceCycle, pod: Pod, node: str
    ) -> list[ResourceClaim]:
        """Return the claims as they are written; if that fails for one, raise once all of them have an outcome."""
        chosen = {claim_id(claim): allocation for claim, allocation in state.chosen}
        writes = [self._writer.reserve(each, pod, node, chosen.get(claim_id(each))) for each in claims]
        written = await asyncio.gather(*writes, return_exceptions=True)
        for failure in written:
            if isinstance(failure, BaseException):
                raise failure
        return [each for each in written if isinstance(each, ResourceClaim)]
