"""The sources of load metrics: the metrics API, Prometheus or load-watcher."""

import asyncio
import base64
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from pilotage.cluster.credentials.credential_files import read_credential
from pilotage.cluster.election.instance_names import InstanceNames
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.transport.service_tls import TLS, BadTLS, tls_context
from pilotage.cluster.watch.listing import GetApi
from pilotage.kinds.load_messages import Malformed, Sample, read_node_metrics, read_vector, read_watched
from pilotage.kinds.node_metrics import NodeMetrics, load_of
from pilotage.model.extender_messages import ExtenderFailed
from pilotage.model.node import Node
from pilotage.model.node_load import NodeLoad, ResourceLoad

if TYPE_CHECKING:
    from pilotage.cluster.services.extender_transport import Transport

NODE_METRICS = NodeMetrics.api.path()
TIMEOUT = 10.0  # seconds for one query
WATCHER_TIMEOUT = 30.0  # load-watcher may have to query others first

CPU, MEMORY = "cpu", "memory"
AVERAGE, DEVIATION = "average", "deviation"

Meaning = tuple[str, str]  # a resource, and average or deviation
By = dict[str, float]  # percent, by the node's name


class LoadUnavailable(Exception):
    """A source returned no figures; the message says why."""


class Reading(NamedTuple):
    """The figures of a source, and problems with parts of them."""

    loads: dict[str, NodeLoad]
    complaints: tuple[str, ...] = ()


class Provider(StrEnum):
    """The kinds of sources."""

    METRICS_API = "KubernetesMetricsServer"
    PROMETHEUS = "Prometheus"
    LOAD_WATCHER = "load-watcher"


@dataclass(frozen=True)
class SourceSettings:
    """The settings of a source; plugins with equal settings share one."""

    provider: Provider
    address: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    user_files: tuple[str, str] = ("", "")  # with the name and the password
    ca_file: str = ""
    directory: str | None = None  # files are only read below it, after resolving links; None: everywhere
    insecure: bool = False
    instance_label: str = "instance"
    instance_is: str = ""
    queries: tuple[tuple[Meaning, str], ...] = ()

    @property
    def name(self) -> str:
        """Return the source's name in logs and metrics, without secrets."""
        if self.provider is Provider.METRICS_API:
            return NodeMetrics.api.group
        parts = urlsplit(self.address)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


class LoadSource(Protocol):
    """A source of figures."""

    async def read(self, nodes: Sequence[Node], now: float) -> Reading:
        """Return figures of these nodes, measured before now; LoadUnavailable if there are none."""

    async def close(self) -> None:
        """Close all connections."""


class MetricsApi:
    """The metrics API of the cluster, which has current usage without deviations."""

    def __init__(self, api: GetApi) -> None:
        self._api = api

    async def read(self, nodes: Sequence[Node], now: float) -> Reading:
        """Return usage relative to capacity."""
        try:
            found, bad = read_node_metrics(await self._api.get(NODE_METRICS, timeout=TIMEOUT))
        except ApiError as error:
            why = f"the cluster does not serve {NodeMetrics.api.group}; is metrics-server installed?"
            raise LoadUnavailable(why if error.status == 404 else f"{NODE_METRICS}: {error}") from None
        except (Unreachable, OutcomeUnknown, Malformed) as error:
            raise LoadUnavailable(f"{NODE_METRICS}: {error}") from None
        by_name = {node.name: node for node in nodes}
        known = {metrics.metadata.name: metrics for metrics in found}
        loads = {name: load_of(known[name], node, now) for name, node in by_name.items() if name in known}
        loads = {name: load for name, load in loads.items() if load.is_known}
        return Reading(loads, _told(("cannot be read", bad)))

    async def close(self) -> None:
        """Do nothing: the client belongs to its owner."""


class LoadWatcher:
    """The service load-watcher, which identifies nodes by name."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    async def read(self, nodes: Sequence[Node], now: float) -> Reading:
        """Return the measurements of existing nodes."""
        try:
            loads, bad = read_watched(await self._transport.get("watcher", {}, {}), now)
        except (ExtenderFailed, Malformed) as error:
            raise LoadUnavailable(str(error)) from None
        names = {node.name for node in nodes}
        found = {name: load for name, load in loads.items() if name in names}
        strange = len(loads) - len(found)
        return Reading(found, _told(("have no usable values", bad), ("belong to no node of this cluster", strange)))

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()


class Prometheus:
    """A Prometheus server, with one query per figure; a failed query does not affect the others."""

    def __init__(self, settings: SourceSettings, transport: "Transport") -> None:
        self._settings = settings
        self._transport = transport

    async def read(self, nodes: Sequence[Node], now: float) -> Reading:
        """Return the averages and deviations that are available."""
        names = InstanceNames(nodes, self._settings.instance_is)
        try:
            headers = self._headers()
        except (OSError, ValueError) as error:
            raise LoadUnavailable(f"the token file cannot be read: {error}") from None
        queries = self._settings.queries
        answers = await asyncio.gather(*(self._ask(query, headers, names) for _, query in queries))
        found = {meaning: answer for (meaning, _), (answer, _) in zip(queries, answers, strict=True)}
        complaints = tuple(
            f"{' '.join(meaning)}: {why}" for (meaning, _), (_, why) in zip(queries, answers, strict=True) if why
        )
        if len(complaints) == len(queries) and not any(found.values()):
            raise LoadUnavailable("; ".join(complaints))
        return Reading(_combined(found, now), complaints)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def _ask(self, query: str, headers: Mapping[str, str], names: InstanceNames) -> tuple[By, str]:
        """Return percentages by node, and problems."""
        try:
            samples, bad = read_vector(await self._transport.get("api/v1/query", {"query": query}, headers))
        except (ExtenderFailed, Malformed) as error:
            return {}, f"{error} ({query})"
        if not samples:
            return {}, f"the query returns no numbers ({query}); does the metric or recording rule exist?"
        return self._by_node(samples, bad, names)

    def _by_node(self, samples: Iterable[Sample], bad: int, names: InstanceNames) -> tuple[By, str]:
        label, found, several, strange = self._settings.instance_label, By(), 0, list[str]()
        for sample in samples:
            instance = sample.labels.get(label, "")
            name = names.find(instance)
            if name is None:
                strange.append(instance)
                continue
            several += name in found
            found[name] = max(found.get(name, -float("inf")), 100 * sample.value)
        example = f"belong to no node, such as {label}={strange[0][:80]!r}" if strange else ""
        told = _told(("are not numbers", bad), (example, len(strange)), ("repeat a node", several))
        return found, "; ".join(told)

    def _headers(self) -> dict[str, str]:
        settings = self._settings
        token = settings.token
        if settings.token_file:  # it may be rotated at any time
            token = self._read(settings.token_file).decode("ascii")
        if settings.user_files[0]:
            user, password = map(self._read, settings.user_files)
            return {"Authorization": f"Basic {base64.b64encode(user + b':' + password).decode()}"}
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _read(self, path: str) -> bytes:
        return read_credential(path, self._settings.directory).strip()


class Unusable:
    """A source that can never be queried."""

    def __init__(self, why: LoadUnavailable) -> None:
        self._why = why

    async def read(self, nodes: Sequence[Node], now: float) -> Reading:
        """Raise the reason."""
        raise self._why

    async def close(self) -> None:
        """Do nothing."""


def source_of(settings: SourceSettings, api: GetApi) -> LoadSource:
    """Return a source; LoadUnavailable if its CA cannot be read."""
    if settings.provider is Provider.METRICS_API:
        return MetricsApi(api)
    timeout = WATCHER_TIMEOUT if settings.provider is Provider.LOAD_WATCHER else TIMEOUT
    from pilotage.cluster.services.extender_transport import Transport  # aiohttp is large, and rarely needed

    transport = Transport(settings.address, timeout, _context(settings))
    return LoadWatcher(transport) if settings.provider is Provider.LOAD_WATCHER else Prometheus(settings, transport)


def _context(settings: SourceSettings) -> ssl.SSLContext | None:
    if not settings.address.lower().startswith("https:"):
        return None
    tls = TLS(insecure=settings.insecure, ca_file=settings.ca_file)
    try:
        return tls_context(settings.name, tls, enable_https=False, directory=settings.directory)
    except BadTLS as error:
        raise LoadUnavailable(str(error)) from None


def _combined(found: Mapping[Meaning, By], now: float) -> dict[str, NodeLoad]:
    """Return the loads of all nodes with an average; a deviation alone is useless."""

    def load(resource: str, name: str) -> ResourceLoad | None:
        average = found.get((resource, AVERAGE), {}).get(name)
        return (
            average if average is None else ResourceLoad(average, found.get((resource, DEVIATION), {}).get(name, 0.0))
        )

    names = {name for resource in (CPU, MEMORY) for name in found.get((resource, AVERAGE), {})}
    return {name: NodeLoad(load(CPU, name), load(MEMORY, name), now) for name in sorted(names)}


def _told(*counts: tuple[str, int]) -> tuple[str, ...]:
    return tuple(f"{number} entries {what}" for what, number in counts if number)
