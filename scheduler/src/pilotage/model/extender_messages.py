"""The messages between a scheduler and an extender, with Go's field names, which are read in any case.

Kubernetes objects in them stay raw bytes; only the necessary names are decoded.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct, field

Value = TypeVar("Value")

LONGEST_REASON = 1024  # characters of an extender's message about one node, which ends up in the pod's status
_INT64 = 1 << 63
_NOTHING = Raw(b"null")


class Malformed(ValueError):
    """A message that cannot be read; the text says where and why."""


class ExtenderFailed(Exception):
    """An extender gave no usable response; the text is for the owner of the pod."""


class FilterResult(NamedTuple):
    """The nodes that an extender leaves, by name and as objects, and why it rejected the others."""

    names: Sequence[str] | None = None
    nodes: Sequence[str] | None = None  # the names of the objects
    failed: Mapping[str, str] = {}
    unresolvable: Mapping[str, str] = {}  # where preemption cannot help
    error: str = ""


class VictimsOnNode(NamedTuple):
    """The pods to evict from a node, and how many of them violate a disruption budget."""

    uids: Sequence[str]
    violations: int = 0


class NodesQuestion(NamedTuple):
    """A request to an extender: a pod, and nodes as objects or by name."""

    pod: bytes
    nodes: Sequence[bytes] | None
    names: Sequence[str] | None


class PreemptQuestion(NamedTuple):
    """A pod, and its victims by node."""

    pod: bytes
    victims: Mapping[str, VictimsOnNode]


class Binding(NamedTuple):
    """A pod and its node."""

    name: str
    namespace: str
    uid: str
    node: str


class _Named(Struct, gc=False):
    name: str = ""
    uid: str = ""


class _Object(Struct, gc=False):
    metadata: _Named = field(default_factory=_Named)


class _ObjectList(Struct, gc=False):
    items: list[_Object] | None = None


class _RawList(Struct, gc=False):
    items: list[Raw] | None = None


# ---------------------------------------------------------------------------------------- what a scheduler writes


def write_nodes_question(pod: bytes, nodes: Sequence[bytes] | None, names: Sequence[str] | None) -> bytes:
    """Ask about nodes, for `filter` and `prioritize`."""
    listed = b"null" if nodes is None else _node_list(nodes)
    return b'{"Pod":%b,"Nodes":%b,"NodeNames":%b}' % (pod, listed, _json(names))


def write_preempt_question(pod: bytes, victims: Mapping[str, tuple[Sequence[bytes], int]]) -> bytes:
    """Ask about victims, as complete pods, and the number of violated budgets, by node."""
    told = b",".join(
        b'%b:{"Pods":[%b],"NumPDBViolations":%d}' % (_json(node), b",".join(pods), violations)
        for node, (pods, violations) in victims.items()
    )
    return b'{"Pod":%b,"NodeNameToVictims":{%b},"NodeNameToMetaVictims":null}' % (pod, told)


def write_meta_preempt_question(pod: bytes, victims: Mapping[str, VictimsOnNode]) -> bytes:
    """Ask about victims by their uids."""
    return b'{"Pod":%b,"NodeNameToVictims":null,"NodeNameToMetaVictims":%b}' % (pod, _json(_meta(victims)))


def write_binding(binding: Binding) -> bytes:
    """Ask to bind a pod."""
    return _json(
        {
            "PodName": binding.name,
            "PodNamespace": binding.namespace,
            "PodUID": binding.uid,
            "Node": binding.node,
        }
    )


def read_filter_result(body: bytes) -> FilterResult:
    """Read the answer to `filter`."""
    found = _fields(body)
    return FilterResult(
        _optional(found, "NodeNames", list[str]),
        _names_of(found),
        _reasons(found, "FailedNodes"),
        _reasons(found, "FailedAndUnresolvableNodes"),
        _text(found, "Error"),
    )


def read_priorities(body: bytes) -> list[tuple[str, int]]:
    """Read the answer to `prioritize`: scores by node, possibly several for one."""
    listed = _decode(body, list[dict[str, Any] | None] | None, "the answer")
    return [_priority({key.lower(): value for key, value in (each or {}).items()}) for each in listed or ()]


def read_preempt_result(body: bytes) -> dict[str, VictimsOnNode]:
    """Read the answer to `preempt`: victims by node."""
    return _read_meta(_fields(body).get("nodenametometavictims", _NOTHING))


def read_error(body: bytes) -> str:
    """Read the answer to `bind`: the error, or ""."""
    return _text(_fields(body), "Error")


# ----------------------------------------------------------------------------------------- what an extender writes


def read_nodes_question(body: bytes) -> NodesQuestion:
    """Read a request about nodes."""
    found = _fields(body)
    nodes = _optional(found, "Nodes", _RawList)
    return NodesQuestion(
        _pod(found),
        None if nodes is None else [bytes(each) for each in nodes.items or ()],
        _optional(found, "NodeNames", list[str]),
    )


def read_preempt_question(body: bytes) -> PreemptQuestion:
    """Read a request about victims, in either form."""
    found = _fields(body)
    whole = found.get("nodenametovictims", _NOTHING)
    if bytes(whole) == b"null":
        return PreemptQuestion(_pod(found), _read_meta(found.get("nodenametometavictims", _NOTHING)))
    victims = {}
    for node, raw in (_decode(whole, dict[str, Raw] | None, "NodeNameToVictims") or {}).items():
        facts = _fields(raw)
        pods = _optional(facts, "Pods", list[_Object]) or []
        victims[node] = VictimsOnNode([pod.metadata.uid for pod in pods], _whole(facts, "NumPDBViolations"))
    return PreemptQuestion(_pod(found), victims)


def read_binding(body: bytes) -> Binding:
    """Read a request to bind a pod."""
    found = _fields(body)
    return Binding(*(_text(found, name) for name in ("PodName", "PodNamespace", "PodUID", "Node")))


def write_filter_result(result: FilterResult, nodes: Sequence[bytes] | None = None) -> bytes:
    """Answer `filter`; the nodes are objects if the request had objects."""
    listed = b"null" if nodes is None else _node_list(nodes)
    facts = (listed, _json(result.names), _json(result.failed), _json(result.unresolvable), _json(result.error))
    return b'{"Nodes":%b,"NodeNames":%b,"FailedNodes":%b,"FailedAndUnresolvableNodes":%b,"Error":%b}' % facts


def write_priorities(scores: Iterable[tuple[str, int]]) -> bytes:
    """Answer `prioritize`."""
    return _json([{"Host": node, "Score": score} for node, score in scores])


def write_preempt_result(victims: Mapping[str, VictimsOnNode]) -> bytes:
    """Answer `preempt`."""
    return _json({"NodeNameToMetaVictims": _meta(victims)})


def write_error(text: str) -> bytes:
    """Answer `bind`: the error, or ""."""
    return _json({"Error": text})


def without_type(manifest: bytes) -> bytes:
    """Return an object without apiVersion and kind, which kube-scheduler does not send either."""
    fields = _decode(manifest, dict[str, Raw], "the object")
    return _json({key: value for key, value in fields.items() if key not in ("apiVersion", "kind")})


# ----------------------------------------------------------------------------------------------------------- parts

_json = msgspec.json.encode


def _node_list(nodes: Sequence[bytes]) -> bytes:
    return b'{"metadata":{},"items":[%b]}' % b",".join(nodes)


def _meta(victims: Mapping[str, VictimsOnNode]) -> dict[str, Any]:
    return {
        node: {"Pods": [{"UID": uid} for uid in found.uids], "NumPDBViolations": found.violations}
        for node, found in victims.items()
    }


def _read_meta(raw: Raw) -> dict[str, VictimsOnNode]:
    victims = {}
    for node, each in (_decode(raw, dict[str, Raw] | None, "NodeNameToMetaVictims") or {}).items():
        facts = _fields(each)
        pods = _optional(facts, "Pods", list[Raw]) or []
        uids = [_text(_fields(pod), "UID") for pod in pods]
        victims[node] = VictimsOnNode(uids, _whole(facts, "NumPDBViolations"))
    return victims


def _fields(body: bytes | Raw) -> dict[str, Raw]:
    """Return the fields of an object by their names in lower case, still encoded."""
    found = _decode(body, dict[str, Raw] | None, "the message") or {}
    return {key.lower(): value for key, value in found.items()}


def _pod(found: Mapping[str, Raw]) -> bytes:
    pod = bytes(found.get("pod", _NOTHING))
    if pod == b"null":
        raise Malformed("the message has no Pod")
    return pod


def _optional(found: Mapping[str, Raw], name: str, kind: type[Value]) -> Value | None:
    value: Value | None = _decode(found.get(name.lower(), _NOTHING), kind | None, name)
    return value


def _text(found: Mapping[str, Raw], name: str) -> str:
    return (_optional(found, name, str) or "")[: 4 * LONGEST_REASON]


def _whole(found: Mapping[str, Raw], name: str) -> int:
    return _in_range(_optional(found, name, int) or 0, name)


def _reasons(found: Mapping[str, Raw], name: str) -> dict[str, str]:
    given = _decode(found.get(name.lower(), _NOTHING), dict[str, str | None] | None, name) or {}
    return {node: (reason or "")[:LONGEST_REASON] for node, reason in given.items()}


def _names_of(found: Mapping[str, Raw]) -> list[str] | None:
    """Return the names of the nodes in a list, regardless of the case of field names."""
    raw = found.get("nodes", _NOTHING)
    listed = _optional(found, "Nodes", _ObjectList)
    if listed is None:
        return None
    names = [each.metadata.name for each in listed.items or ()]
    if names and all(names):
        return names
    items = _optional(_fields(raw), "items", list[Raw]) or []
    return [_text(_fields(_fields(item).get("metadata", _NOTHING)), "name") for item in items]


def _priority(facts: Mapping[str, Any]) -> tuple[str, int]:
    host, score = facts.get("host"), facts.get("score")
    if not isinstance(host, str | None) or (type(score) is not int and score is not None):
        raise Malformed(f"a Host and a whole number as its Score are required, not {host!r:.80} and {score!r:.80}")
    return host or "", _in_range(score or 0, "Score")


def _in_range(number: int, name: str) -> int:
    if not -_INT64 <= number < _INT64:
        raise Malformed(f"{name} {number:.3e} does not fit into 64 bits")
    return number


def _decode(body: bytes | Raw, kind: Any, what: str) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise Malformed(f"{what}: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"{what} is not JSON: {error}") from None
