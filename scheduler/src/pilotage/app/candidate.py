"""This process as a candidate for the lease."""

from functools import partial

from pilotage.app.clients import AGENT
from pilotage.app.options import InvalidOptions
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.election.lease import LeaderElection
from pilotage.cluster.election.lease_settings import LeaseSettings, new_identity
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.config.types import LeaderElection as LeaderElectionSettings


def election(settings: LeaderElectionSettings, access: Access) -> LeaderElection | None:
    """Return the leader election to take part in; None if it is disabled."""
    if not settings.leader_elect:
        return None
    try:
        wanted = LeaseSettings(
            namespace=settings.resource_namespace,
            name=settings.resource_name,
            identity=new_identity(),
            lease_duration=settings.lease_duration / 1e9,
            renew_deadline=settings.renew_deadline / 1e9,
            retry_period=settings.retry_period / 1e9,
        )
    except ValueError as error:
        raise InvalidOptions(f"{error}; change --leader-elect-lease-duration and the like") from None
    client = partial(ApiClient, access, agent=f"{AGENT} leader-election", connections=1)
    return LeaderElection(wanted, lambda: client(timeout=wanted.request_timeout))
