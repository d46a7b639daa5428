"""Which devices claims hold."""

from pilotage.kinds.devices import Allocation


class Usage:
    """What each claim holds, by its uid, and the sums for each device."""

    def take(self, claim_uid: str, allocation: Allocation) -> None:
        """Note what a claim holds, in place of what it held before."""
        raise NotImplementedError

    def release(self, claim_uid: str) -> None:
        """Note that a claim holds nothing."""
        raise NotImplementedError
