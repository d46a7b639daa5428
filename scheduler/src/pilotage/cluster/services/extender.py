"""The client of an extender: an HTTP service that takes part in decisions."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from pilotage.cluster.transport.service_tls import TLS, BadTLS, tls_context
from pilotage.model.extender_messages import (
    Binding,
    ExtenderFailed,
    FilterResult,
    Malformed,
    VictimsOnNode,
    read_error,
    read_filter_result,
    read_preempt_result,
    read_priorities,
    write_binding,
    write_meta_preempt_question,
    write_nodes_question,
    write_preempt_question,
)
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import Container
from pilotage.model.redaction import without_password

if TYPE_CHECKING:
    from pilotage.cluster.services.extender_transport import Transport

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

MAX_PRIORITY = 10  # the highest score of an extender, by convention

PodJSON = Callable[[Pod], bytes | None]  # the complete object without apiVersion and kind; None if the pod was deleted
NodeJSON = Callable[[str], bytes | None]


@dataclass(frozen=True)
class ExtenderSettings:
    """The settings of an extender; it does not implement empty verbs."""

    url_prefix: str
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 1
    node_cache_capable: bool = False
    ignorable: bool = False
    managed_resources: frozenset[str] = frozenset()
    timeout: float = 5.0  # seconds
    enable_https: bool = False
    tls: TLS = field(default_factory=TLS)
    directory: str | None = None  # files are only read below it, after resolving links; None: everywhere
    refused: str = ""  # why it must not be called


class Victims(Protocol):
    """The pods to evict from a node, and how many of them violate a disruption budget."""

    @property
    def pods(self) -> Sequence[Pod]:
        """Return the pods."""

    @property
    def violations(self) -> int:
        """Return the number."""


class Extender:
    """One extender; every failed call raises ExtenderFailed."""

    def __init__(
        self,
        settings: ExtenderSettings,
        pod_json: PodJSON,
        node_json: NodeJSON,
        transport: "Transport | None" = None,
    ) -> None:
        self.name = without_password(settings.url_prefix)
        self.filter_verb, self.prioritize_verb = settings.filter_verb, settings.prioritize_verb
        self.preempt_verb, self.bind_verb = settings.preempt_verb, settings.bind_verb
        self.weight = settings.weight
        self.ignorable = settings.ignorable
        self.node_cache_capable = settings.node_cache_capable
        self._managed = settings.managed_resources
        self._pod_json, self._node_json = pod_json, node_json
        self._transport = transport or _transport(settings)

    def __repr__(self) -> str:
        return f"Extender({self.name})"

    @property
    def needs_nodes(self) -> bool:
        """Return whether whole node objects are sent."""
        return not self.node_cache_capable and bool(self.filter_verb or self.prioritize_verb)

    def interested(self, pod: Pod) -> bool:
        """Return whether the extender is interested in this pod."""
        managed = self._managed
        return not managed or any(
            _names_any(container, managed) for container in (*pod.spec.containers, *pod.spec.init_containers)
        )

    async def filter(self, pod: Pod, nodes: Sequence[str]) -> FilterResult:
        """Return which of the given nodes fit; `names` is never None in the result."""
        body = await self._transport.post(self.filter_verb, self._question(pod, nodes))
        result = self._read(read_filter_result, body, self.filter_verb)
        if result.error:
            raise ExtenderFailed(result.error)
        by_name = self.node_cache_capable and result.names is not None
        left = list(dict.fromkeys((result.names if by_name else result.nodes) or ()))
        unknown = sorted(set(left).difference(nodes))
        if unknown:
            claim = f'claims a filtered node "{unknown[0]:.253}" which is not found in the input node list'
            raise ExtenderFailed(f'extender "{self.name}" {claim}')
        return result._replace(names=left, nodes=None)

    async def prioritize(self, pod: Pod, nodes: Sequence[str]) -> list[tuple[str, int]]:
        """Return scores by node, by convention from 0 to 10, which is not enforced."""
        body = await self._transport.post(self.prioritize_verb, self._question(pod, nodes))
        return self._read(read_priorities, body, self.prioritize_verb)

    async def preempt(self, pod: Pod, victims: Mapping[str, Victims]) -> dict[str, VictimsOnNode]:
        """Return the victims by node that the extender accepts or chooses."""
        if self.node_cache_capable:
            by_uid = {
                node: VictimsOnNode([victim.uid for victim in found.pods], found.violations)
                for node, found in victims.items()
            }
            question = write_meta_preempt_question(self._pod(pod), by_uid)
        else:
            whole = {
                node: ([self._pod(victim) for victim in found.pods], found.violations)
                for node, found in victims.items()
            }
            question = write_preempt_question(self._pod(pod), whole)
        body = await self._transport.post(self.preempt_verb, question)
        return self._read(read_preempt_result, body, self.preempt_verb)

    async def bind(self, pod: Pod, node: str) -> None:
        """Let the extender bind the pod."""
        question = write_binding(Binding(pod.name, pod.namespace, pod.uid, node))
        error = self._read(read_error, await self._transport.post(self.bind_verb, question), self.bind_verb)
        if error:
            raise ExtenderFailed(error)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    def _question(self, pod: Pod, nodes: Sequence[str]) -> bytes:
        if self.node_cache_capable:
            return write_nodes_question(self._pod(pod), None, nodes)
        known = [found for name in nodes if (found := self._node_json(name)) is not None]
        return write_nodes_question(self._pod(pod), known, None)

    def _pod(self, pod: Pod) -> bytes:
        found = self._pod_json(pod)
        if found is None:
            raise ExtenderFailed(f"pod {pod.key} was deleted, so extender {self.name} cannot be called for it")
        return found

    def _read(self, read: Callable[[bytes], Answer], body: bytes, verb: str) -> Answer:
        try:
            return read(body)
        except Malformed as error:
            raise ExtenderFailed(f"failed {verb} with extender at URL {self.name}: {error}") from None


def in_order(extenders: Sequence[Extender]) -> list[Extender]:
    """Sort ignorable extenders last; otherwise keep the order of the configuration."""
    return sorted(extenders, key=lambda extender: extender.ignorable)


class Refusing:
    """In place of a transport that must not be used: fails with the reason."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def post(self, verb: str, body: bytes) -> bytes:
        """Fail with the reason."""
        raise ExtenderFailed(self._why)

    async def close(self) -> None:
        """Do nothing."""


def _transport(settings: ExtenderSettings) -> "Transport | Refusing":
    if settings.refused:
        return _refusing(settings, settings.refused)
    from pilotage.cluster.services.extender_transport import Transport  # aiohttp is large, and rarely needed

    url, tls, context = settings.url_prefix, settings.tls, None
    if url.lower().startswith("https:"):
        try:
            context = tls_context(url, tls, enable_https=settings.enable_https, directory=settings.directory)
        except BadTLS as error:
            if settings.directory is None:
                raise
            # Reported instead of raised: a profile must not stop the scheduler.
            return _refusing(settings, str(error))
    return Transport(url, settings.timeout, context, server_name=tls.server_name)


def _refusing(settings: ExtenderSettings, why: str) -> "Refusing":
    name = without_password(settings.url_prefix)
    log.error("extender %s is not called: %s", name, why)
    return Refusing(f"extender {name} is not called: {why}")


def _names_any(container: Container, resources: frozenset[str]) -> bool:
    asked = container.resources
    return not resources.isdisjoint(asked.requests) or not resources.isdisjoint(asked.limits)
