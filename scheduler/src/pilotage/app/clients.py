"""The API clients of a live scheduler, each with its own budget."""

from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

from pilotage.app import Configured
from pilotage.app.options import Options
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.transport.api_client import ApiClient, Observe

AGENT = f"pilotage/{version('pilotage')}"
BIND_SECONDS = 10.0  # for one request: an answer after the lease is lost is useless


@dataclass(frozen=True)
class Clients:
    """API clients with separate budgets: a busy one does not delay the others."""

    watches: ApiClient
    binds: ApiClient
    statuses: ApiClient
    events: ApiClient

    async def close(self) -> None:
        """Drop all connections."""
        for client in (self.watches, self.binds, self.statuses, self.events):
            await client.close()


def connect(access: Access, qps: float, burst: int, observe: Observe) -> Clients:
    """Create all clients; binds and statuses share one rate limit in kube-scheduler, here each has its own."""
    limited = partial(ApiClient, access, qps=qps, burst=burst, observe=observe)
    return Clients(
        watches=ApiClient(access, agent=f"{AGENT} watch", timeout=60.0, observe=observe),
        binds=limited(agent=f"{AGENT} scheduler", timeout=BIND_SECONDS),
        statuses=limited(agent=f"{AGENT} scheduler", connections=8),
        events=limited(agent=f"{AGENT} events", connections=8),
    )


def limits(ready: Configured, options: Options) -> tuple[float, int]:
    """Return the configured QPS and burst, or no limits: the API server has its own."""
    connection = ready.loaded.config.client_connection
    if options.qps:
        return max(options.qps, 0.0), options.burst or connection.burst
    return (max(connection.qps, 0.0), connection.burst) if ready.loaded.limits_requests else (0.0, 0)
