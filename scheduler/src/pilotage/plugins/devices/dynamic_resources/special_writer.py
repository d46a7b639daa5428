"""Creates the special claim of a pod once its node is known, and deletes it if the pod is not bound after all."""

from collections.abc import Iterable

from pilotage.framework.api.handle import ApiFailed, Handle, NotAllowed
from pilotage.kinds.devices import ResourceClaim
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.claim_lanes import ClaimLanes, Lane
from pilotage.plugins.devices.dynamic_resources.claim_writer import NOT_ALLOWED, ClaimWriter, WriteFailed
from pilotage.plugins.devices.dynamic_resources.claims_ledger import ClaimsLedger
from pilotage.plugins.devices.dynamic_resources.extended_claims import creation_body, status_body, status_path
from pilotage.plugins.devices.dynamic_resources.extended_requests import RequestMapping
from pilotage.plugins.devices.dynamic_resources.pod_claims import claim_id, key_of

SUCCESS, FAILURE = "success", "failure"


class SpecialWriter:
    """Writes the special claims of the pods of one profile."""

    def __init__(self, handle: Handle, claims: ClaimsLedger, lanes: ClaimLanes, writer: ClaimWriter) -> None:
        self._handle = handle
        self._claims = claims
        self._lanes = lanes
        self._writer = writer
        meaning = "Special claims that were created for extended resources, by outcome"
        self._creations = handle.metrics.counter("resourceclaim_creates_total", meaning, ("status",))

    async def create(self, special: ResourceClaim, pod: Pod, node: str) -> ResourceClaim:
        """Create the claim as a node needs it; the devices chosen for it are those of the created claim then."""
        try:
            created = await self._writer.requests.create(creation_body(pod, special), pod, node)
        except NotAllowed as failure:
            raise WriteFailed(NOT_ALLOWED) from failure
        except ApiFailed as failure:
            self._creations.add(FAILURE)
            raise WriteFailed(f"create claim for extended resources {key_of(special)}: {failure}") from failure
        self._creations.add(SUCCESS)
        self._claims.rename(claim_id(special), created)
        return created

    async def tell(self, pod: Pod, node: str, claim: ResourceClaim, mappings: Iterable[RequestMapping]) -> None:
        """Tell the pod, and so its kubelet, which request has the devices for each container."""
        body = status_body(pod, claim.metadata.name, mappings)
        try:
            await self._handle.api.patch(status_path(pod), body, pod=pod, node=node)
        except NotAllowed as failure:
            raise WriteFailed(NOT_ALLOWED) from failure
        except ApiFailed as failure:
            raise WriteFailed(f"update pod {pod.key} ExtendedResourceClaimStatus: {failure}") from failure

    def start_deletion(self, claim: ResourceClaim, pod: Pod) -> None:
        """Delete a created claim in the background, after its other writes."""
        self._writer.finish(claim, pod)
        self._lanes.add(claim_id(claim), _Deletion(self._handle, self._writer, claim))


class _Deletion:
    """A special claim whose pod is not bound, or that an earlier attempt has left."""

    def __init__(self, handle: Handle, writer: ClaimWriter, claim: ResourceClaim) -> None:
        self._handle, self._writer, self._claim = handle, writer, claim

    async def run(self, lane: Lane) -> None:
        """Delete it; if that fails, the pod's next attempt finds it."""
        try:
            await self._writer.requests.delete(self._writer.latest(self._claim))
        except ApiFailed as failure:
            self._handle.log.warning("delete resourceclaim %s: %s", key_of(self._claim), failure)

    def give_up(self) -> None:
        """Nobody waits."""
