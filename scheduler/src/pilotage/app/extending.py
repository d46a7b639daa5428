"""Runs the plugins as an extender, with a cache of the cluster if it has one."""

import asyncio
import signal
import ssl
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.metadata import version

from pilotage.app.informers import Watching, kinds_read
from pilotage.app.profile_engines import engines
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.credentials.access import find
from pilotage.cluster.services.extender_server import Bind, ExtenderServer, refuse_exposed
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.write.bind_outcomes import Bound, Refused
from pilotage.cluster.write.binder import Binder
from pilotage.extenders.extender_service import ExtenderService, static_profiles
from pilotage.model.extender_messages import Binding
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod, PodObject
from pilotage.profiles import Profile
from pilotage.scheduling.cache_intake import NodesIntoCache, ObjectsIntoCache, PodsIntoCache

AGENT = f"pilotage/{version('pilotage')} extender"
BIND_SECONDS = 3.0  # for one request: clients wait for five seconds by default

OnServing = Callable[[str], None]  # called with the URL


@dataclass(frozen=True)
class Place:
    """The address to listen on, and the certificate."""

    address: str
    port: int
    context: ssl.SSLContext | None = None


@dataclass(frozen=True)
class Sinks:
    """The receivers of watch events."""

    pods: PodsIntoCache
    nodes: NodesIntoCache
    objects: ObjectsIntoCache


async def serve(
    profiles: Mapping[str, Profile],
    place: Place,
    *,
    kubeconfig: str | None,
    on_serving: OnServing,
    stopped: asyncio.Event | None = None,
) -> None:
    """Serve until stopped; kubeconfig None means without a cluster, "" means kubectl's default.

    Exposed if clients would not be authenticated.
    """
    refuse_exposed(place.address, place.context)
    if stopped is None:
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        cache, bind, is_synced = ClusterCache(), None, lambda: True
        if kubeconfig is None:
            profiles, _ = static_profiles(profiles)
        else:
            bind, is_synced = await _live(stack, cache, profiles, kubeconfig)
        service = ExtenderService(engines(profiles, cache), cache, cache_is_live=kubeconfig is not None)
        server = ExtenderServer(service, bind, is_ready=is_synced)
        stack.push_async_callback(server.stop)
        on_serving(await server.start(place.address, place.port, place.context))
        await stopped.wait()


async def _live(
    stack: AsyncExitStack, cache: ClusterCache, profiles: Mapping[str, Profile], kubeconfig: str
) -> tuple[Bind, Callable[[], bool]]:
    """Keep a cache up to date; returns a function that binds pods, and one that reports whether the cache is filled."""
    access = find(kubeconfig)
    watches = ApiClient(access, agent=AGENT, timeout=60.0)
    binds = ApiClient(access, agent=AGENT, timeout=BIND_SECONDS)
    stack.push_async_callback(watches.close)
    stack.push_async_callback(binds.close)
    sinks = Sinks(PodsIntoCache(cache), NodesIntoCache(cache), ObjectsIntoCache(cache))
    watching = Watching(watches, sinks, kinds_read(profiles))
    starting = asyncio.create_task(watching.start())
    stack.callback(watching.stop)
    stack.callback(starting.cancel)
    return binding_with(Binder(binds, lambda _pod, _node: True)), lambda: not watching.unsynced()


def binding_with(binder: Binder) -> Bind:
    """Return a function that binds a pod given by name."""

    async def bind(binding: Binding) -> str:
        pod = Pod(PodObject(Metadata(name=binding.name, namespace=binding.namespace, uid=binding.uid)))
        outcome = await binder.bind(pod, binding.node)
        if isinstance(outcome, Bound):
            return ""
        return outcome.message if isinstance(outcome, Refused) else "unknown whether the pod was bound"

    return bind
