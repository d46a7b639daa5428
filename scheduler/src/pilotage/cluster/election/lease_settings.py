"""The settings of a candidate: the Lease, the identity, and the timing."""

import socket
import uuid
from dataclasses import dataclass
from math import ceil

JITTER = 1.2  # kube-scheduler's jitter factor on the retry period


def new_identity() -> str:
    """Return an identity that is unique to this process."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """The Lease, the identity, and the times of the election in seconds."""

    namespace: str
    name: str
    identity: str
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        """Reject times with which two candidates could lead at once."""
        if not self.identity:
            raise ValueError("the identity of a candidate must not be empty: an empty holder means a free Lease")
        if self.retry_period <= 0:
            raise ValueError("leaderElection.retryPeriod must be greater than zero")
        if self.lease_duration <= self.renew_deadline:
            raise ValueError("leaderElection.leaseDuration must be greater than renewDeadline")
        if self.renew_deadline <= JITTER * self.retry_period:
            raise ValueError(f"leaderElection.renewDeadline must be greater than {JITTER} times retryPeriod")

    @property
    def request_timeout(self) -> float:
        """The time-out of one request."""
        return max(self.renew_deadline / 2, 1.0)

    @property
    def whole_seconds(self) -> int:
        """The duration in the Lease's format; rounded up, so that it never ends before the renew deadline."""
        return ceil(self.lease_duration)
