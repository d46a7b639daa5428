"""The usage of the nodes of a cluster or a file, counted as in the scheduler."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from pilotage.app import configured, simulation
from pilotage.app.cluster_reading import ClusterReading
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.kubectl.refusals import FORBIDDEN, NotReached, Refused
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable, no_response
from pilotage.cluster.watch.resources import NODES, PODS
from pilotage.framework.api.waiting import WaitingPods
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.offline.manifests import read_manifests
from pilotage.scheduling.decision_log import DecisionLog
from pilotage.views.nodes import NodesQuestion, nodes
from pilotage.views.state import Stamp, State, finish
from pilotage.views.tally import Tally


async def nodes_of_cluster(access: Access) -> dict[str, Any]:
    """Read all nodes and pods, and return the answer of the read API's path for nodes."""
    api = ApiClient(access, agent="pilotage top", timeout=60.0)
    try:
        reading = ClusterReading(api)
        objects: list[Node | Pod] = [
            *(await reading.list(NODES)).objects.values(),
            *(await reading.list(PODS)).objects.values(),
        ]
    except ApiError as error:
        raise Refused(error.status, error.message) from error
    except (Unreachable, OutcomeUnknown) as error:
        raise NotReached(no_response(access.server, error)) from error
    finally:
        await api.close()
    if reading.missing:
        raise Refused(FORBIDDEN, reading.what_is_missing())
    return nodes_of(objects)


def nodes_of_file(name: str) -> dict[str, Any]:
    """Return the same for the manifests of a file; BadManifests if they are invalid."""
    return nodes_of(read_manifests([name]).objects)


def nodes_of(objects: Sequence[Any]) -> dict[str, Any]:
    """Return the usage of these nodes by these pods."""
    cache = ClusterCache()
    for each in objects:
        if isinstance(each, Node):
            cache.put_node(each)
    for each in objects:
        if isinstance(each, Pod) and each.node_name:
            cache.put_pod(each)
    world = simulation(configured(None).profiles(), cache=cache)
    log = DecisionLog()
    tally = Tally(world.queue, log)
    state = State(world.cache, world.queue, world.engines, WaitingPods(), log, tally, dict, lambda: 0.0)
    told = finish(nodes(state, Stamp(datetime.now(UTC), 0, "local"), NodesQuestion()))
    found: dict[str, Any] = msgspec.to_builtins(told)
    return found
