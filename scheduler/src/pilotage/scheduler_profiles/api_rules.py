"""The validation rules of the CRD in Python, for use without an API server.

Each rule is CEL beside its fields in `resource`; this module contains the equivalents in the same order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pilotage.config.documents import At
from pilotage.config.faults import dotted
from pilotage.scheduler_profiles.extender_fields import Extender, ExtenderTLS
from pilotage.scheduler_profiles.judge import INVALID, Complaint
from pilotage.scheduler_profiles.resource import (
    LONGEST_SIMPLE_NAME,
    LONGEST_TAINT_VALUE,
    PluginEntry,
    Point,
    Rollout,
    SchedulerProfile,
    Spec,
)
from pilotage.scheduler_profiles.schema_parts import Part
from pilotage.scheduler_profiles.sharing_fields import NodeRequirement, OwnNodes

Holds: TypeAlias = Callable[[Any], bool]


def _weighs_where_it_scores(entry: PluginEntry) -> bool:
    return entry.weight is None or entry.points is None or Point.SCORE in entry.points


def _trusts_one_way(tls: ExtenderTLS) -> bool:
    return not tls.insecure or (tls.ca_data is None and tls.ca_file is None)


def _has_a_key_to_each_certificate(tls: ExtenderTLS) -> bool:
    has_certificate = any(each is not None for each in (tls.cert_data, tls.cert_file, tls.cert_secret_ref))
    return has_certificate == any(each is not None for each in (tls.key_data, tls.key_file, tls.key_secret_ref))


def _refers_or_gives(tls: ExtenderTLS) -> bool:
    of_key = tls.key_secret_ref is None or (tls.key_data is None and tls.key_file is None)
    return of_key and (tls.cert_secret_ref is None or (tls.cert_data is None and tls.cert_file is None))


def _is_asked(extender: Extender) -> bool:
    verbs = (extender.filter_verb, extender.prioritize_verb, extender.preempt_verb, extender.bind_verb)
    return any(verb is not None for verb in verbs)


def _speaks_tls_by_its_address(extender: Extender) -> bool:
    is_secure = extender.url_prefix.startswith("https://")
    return is_secure or (extender.tls_config is None and not extender.enable_https)


def _sorts_once(entries: Sequence[PluginEntry]) -> bool:
    return sum(entry.enabled and Point.QUEUE_SORT in (entry.points or ()) for entry in entries) <= 1


def _binds_once(extenders: Sequence[Extender]) -> bool:
    return sum(extender.bind_verb is not None for extender in extenders) <= 1


def _taints_what_it_selects(nodes: OwnNodes) -> bool:
    return not nodes.taint or bool(nodes.selector.match_labels or nodes.selector.match_expressions)


def _compares_with_values(requirement: NodeRequirement) -> bool:
    return requirement.operator not in ("In", "NotIn") or bool(requirement.values)


def _asks_without_values(requirement: NodeRequirement) -> bool:
    return requirement.operator in ("In", "NotIn") or not requirement.values


OF_PARTS: Mapping[type[Part], tuple[Holds, ...]] = {
    PluginEntry: (lambda entry: entry.name != "*", _weighs_where_it_scores),
    ExtenderTLS: (_trusts_one_way, _has_a_key_to_each_certificate, _refers_or_gives),
    Extender: (
        _is_asked,
        lambda extender: extender.prioritize_verb is None or extender.weight is not None,
        _speaks_tls_by_its_address,
    ),
    OwnNodes: (_taints_what_it_selects,),
    NodeRequirement: (_compares_with_values, _asks_without_values),
    Rollout: (lambda rollout: rollout.strategy != "Restart" or rollout.progress_deadline_seconds >= 15,),
}
OF_LISTS: Mapping[str, tuple[Holds, ...]] = {"plugins": (_sorts_once,), "extenders": (_binds_once,)}


def broken_rules(spec: Spec, name: str) -> Iterator[Complaint]:
    """Yield the API server's messages about a profile of this name, whose fields have valid types."""
    if not spec.scheduler_name and len(name) > LONGEST_SIMPLE_NAME:
        yield Complaint(INVALID, f"metadata.name: {messages_of(SchedulerProfile)[0]}")
    if spec.nodes is not None and spec.nodes.taint and len(name) > LONGEST_TAINT_VALUE:
        yield Complaint(INVALID, f"metadata.name: {messages_of(SchedulerProfile)[1]}")
    for field, holds in OF_LISTS.items():
        yield from _broken((field,), getattr(spec, field), holds, messages_of_field(Spec, field))
    for at, part in _parts(spec):
        yield from _broken(at, part, OF_PARTS[type(part)], messages_of(type(part)))


def messages_of(part: type[Part]) -> list[str]:
    """Return the messages of a map's rules, in their order."""
    return _messages(part.model_config.get("json_schema_extra"))


def messages_of_field(part: type[Part], field: str) -> list[str]:
    """Return the same for a list."""
    return _messages(part.model_fields[field].json_schema_extra)


def _messages(schema: Any) -> list[str]:
    return [str(rule["message"]) for rule in (schema or {}).get("x-kubernetes-validations", ())]


def _broken(at: At, value: object, holds: Sequence[Holds], messages: Sequence[str]) -> Iterator[Complaint]:
    for rule, message in zip(holds, messages, strict=True):
        if not rule(value):
            yield Complaint(INVALID, f"{dotted(('spec', *at))}: {message}")


def _parts(spec: Spec) -> Iterator[tuple[At, Part]]:
    yield from ((("plugins", place), entry) for place, entry in enumerate(spec.plugins))
    for place, extender in enumerate(spec.extenders):
        yield ("extenders", place), extender
        if extender.tls_config is not None:
            yield ("extenders", place, "tlsConfig"), extender.tls_config
    if spec.nodes is not None:
        yield ("nodes",), spec.nodes
        for place, each in enumerate(spec.nodes.selector.match_expressions or ()):
            yield ("nodes", "selector", "matchExpressions", place), each
    yield ("rollout",), spec.rollout
