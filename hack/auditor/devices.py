"""The part of the ledger for devices: events of claims and slices in, violations out."""

from collections.abc import Callable, Iterable

from auditor.allocations import Allocations
from auditor.claim import Claim
from auditor.device_slice import DeviceSlice
from auditor.entitlements import Entitlements
from auditor.nodes import Nodes
from auditor.pod import Pod
from auditor.rules import Violation
from auditor.slices import Slices

NEVER = float("-inf")
END = float("inf")


class Devices:
    """Holds claims and slices as they were seen; without any it has nothing to say."""

    def __init__(self, nodes: Nodes, grace: float, tell: Callable[[Iterable[Violation]], None]) -> None:
        self._tell = tell
        self._slices = Slices()
        self._allocations = Allocations(self._slices, grace)
        self._entitlements = Entitlements(nodes, grace)
        self._claims: dict[str, Claim] = {}
        self._claims_as_of = self._slices_as_of = NEVER
        self.allocated = 0

    def claims_listed(self, claims: Iterable[Claim], now: float, began: float) -> None:
        """Take a complete list of claims; what the first one has was there before the auditor, and is not judged."""
        is_first = self._claims_as_of == NEVER
        listed = {claim.uid: claim for claim in claims}
        for uid in [uid for uid in self._claims if uid not in listed]:
            self.claim_gone(uid)
        # The order in which they came is lost, so all are counted before any is judged.
        taken = [claim for claim in listed.values() if self._take(claim)]
        if not is_first:
            for claim in taken:
                self._tell(self._allocations.judge(claim, now))
        self._claims_as_of = began

    def claim_changed(self, claim: Claim, now: float) -> None:
        """Take the next version of a claim."""
        if self._take(claim):
            self._tell(self._allocations.judge(claim, now))

    def claim_gone(self, uid: str) -> None:
        """Record that a claim was deleted."""
        if old := self._claims.pop(uid, None):
            self._allocations.replace(old, None)
            self._entitlements.lose(old)

    def slices_listed(self, slices: Iterable[DeviceSlice], now: float, began: float) -> None:
        """Take a complete list of slices, asked for at `began`."""
        listed = {one.name: one for one in slices}
        for name in [name for name in self._slices.current if name not in listed]:
            self._slices.lose(name, now)
        for one in listed.values():
            self._slices.see(one, now)
        self._slices_as_of = began

    def slice_changed(self, found: DeviceSlice, now: float) -> None:
        """Take the next version of a slice."""
        self._slices.see(found, now)

    def slice_gone(self, name: str, now: float) -> None:
        """Record that a slice was deleted."""
        self._slices.lose(name, now)

    def pod_arrived(self, pod: Pod, now: float, binder: str) -> None:
        """Judge a pod that was bound to its node."""
        self._entitlements.arrived(pod, now, binder)

    def pod_left(self, uid: str) -> None:
        """Forget a pod that is gone or done."""
        self._entitlements.left(uid)

    def settle(self, final: bool = False) -> None:
        """Decide the doubts for which enough is known; at the end all."""
        self._tell(self._allocations.settle(END if final else self._slices_as_of, final))
        self._tell(self._entitlements.settle(END if final else self._claims_as_of, final))

    def doubts(self, now: float) -> set[str]:
        """Return which kinds of objects must be listed afresh before a suspicion becomes a violation."""
        slices = {"resourceslices"} if self._allocations.needs_slices(now) else set()
        return slices | ({"resourceclaims"} if self._entitlements.needs_claims(now) else set())

    def _take(self, claim: Claim) -> bool:
        """Take a version of a claim, and return whether it is the first that is allocated."""
        old = self._claims.get(claim.uid)
        if old and old.version == claim.version:
            return False
        self._claims[claim.uid] = claim
        self._allocations.replace(old, claim)
        self._entitlements.see(claim)
        is_new = claim.is_allocated and not (old and old.is_allocated)
        self.allocated += is_new
        return is_new
