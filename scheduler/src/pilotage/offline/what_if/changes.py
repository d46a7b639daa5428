"""The changes of a request, made in a copy of the cluster."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pilotage.config.suggestions import did_you_mean
from pilotage.framework.api.nodes import NodeInfo
from pilotage.kinds.elastic_quota import ElasticQuota, ElasticQuotaSpec
from pilotage.kinds.storage import CSINode
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node, NodeObject, NodeSpec, NodeStatus
from pilotage.model.pod_spec import Amounts
from pilotage.model.quantity import InvalidQuantity, Quantity, parse
from pilotage.model.selectors import InvalidSelector, LabelMatcher, LabelSelector, compile_label_selector
from pilotage.model.tolerations import NO_EXECUTE, first_untolerated
from pilotage.offline.simulation import Simulation
from pilotage.offline.what_if import new_nodes
from pilotage.offline.what_if.departures import Departures
from pilotage.offline.what_if.node_selectors import selector_in
from pilotage.offline.what_if.request import (
    AddNodes,
    Change,
    Evict,
    Label,
    Quota,
    SomeNodes,
    Taint,
    WrongRequest,
)


@dataclass
class Changes:
    """Makes changes; WrongRequest if one refers to something that does not exist."""

    simulation: Simulation
    departures: Departures
    assumptions: list[str] = field(default_factory=list)

    def apply(self, change: Change) -> Iterator[None]:
        """Make one change, other than new pods and profiles, step by step."""
        name, what = change.named
        done: dict[str, Callable[[Any], Iterator[None]]] = {
            "addNodes": self._add_nodes,
            "drain": self._drain,
            "removeNodes": self._remove_nodes,
            "cordon": self._cordon,
            "label": self._label,
            "taint": self._taint,
            "evict": self._evict,
            "quota": self._quota,
        }
        yield from done[name](what)

    def _add_nodes(self, asked: AddNodes) -> Iterator[None]:
        cache = self.simulation.cache
        if asked.template is not None:
            kin = new_nodes.by_template(asked.template, cache.columns.infos)
        else:
            kin = new_nodes.like(self._node(asked.like), cache.objects.get(CSINode, asked.like))
        self.assumptions += kin.assumptions
        if kin.daemons:
            self.assumptions.append(f"each new node has the DaemonSet pods of its kind, {len(kin.daemons)} of them")
        for new in new_nodes.made_after(kin, asked.count, [info.name for info in cache.columns.infos]):
            for each in new.objects:
                self.simulation.objects.added(each)
            self.simulation.nodes.added(new.node)
            for pod in new.pods:
                self.simulation.pods.added(pod)
            yield

    def _drain(self, asked: SomeNodes) -> Iterator[None]:
        for info in self._chosen(asked):
            self._update(info, unschedulable=True)
            for pod in list(info.pods.values()):
                self.departures.ask_to_go(pod, f"drain {info.name}")
                yield

    def _remove_nodes(self, asked: SomeNodes) -> Iterator[None]:
        for info in self._chosen(asked):
            pods, name = list(info.pods.values()), info.name
            self.simulation.nodes.deleted(info.node)
            for pod in pods:
                self.departures.must_go(pod, f"removal of {name}")
                yield

    def _cordon(self, asked: SomeNodes) -> Iterator[None]:
        for info in self._chosen(asked):
            self._update(info, unschedulable=True)
            yield

    def _label(self, asked: Label) -> Iterator[None]:
        for info in self._chosen(asked):
            labels = {**info.labels, **asked.labels}
            self._update(info, labels={key: value for key, value in labels.items() if value is not None})
            yield

    def _taint(self, asked: Taint) -> Iterator[None]:
        given = [new_nodes.taint_of(each) for each in asked.taints]
        replaced = {(taint.key, taint.effect) for taint in given}
        for info in self._chosen(asked):
            kept = [t for t in info.taints if t.key not in asked.remove and (t.key, t.effect) not in replaced]
            taints = (*kept, *given)
            self._update(info, taints=taints)
            for pod in list(info.pods.values()):
                if first_untolerated(taints, pod.shape.tolerated, (NO_EXECUTE,)) is not None:
                    self.departures.must_go(pod, f"taint of {info.name}")
                yield

    def _evict(self, asked: Evict) -> Iterator[None]:
        placed = {pod.key: pod for pod in self.simulation.cache.pods()}
        for name in asked.pods:
            key = name if "/" in name else f"default/{name}"
            if key not in placed:
                near = did_you_mean(key, placed)
                raise WrongRequest(f"evict: no pod {key} runs on a node" + (f"; {near}" if near else ""))
            self.departures.ask_to_go(placed[key], "eviction")
            yield

    def _quota(self, asked: Quota) -> Iterator[None]:
        objects = self.simulation.cache.objects
        there = {each.metadata.name: each for each in objects.all(ElasticQuota, asked.namespace)}
        name = asked.name or (next(iter(there)) if len(there) == 1 else "")
        old = there.get(name)
        if not name or (old is None and there and _is_relative(asked)):
            known = ", ".join(sorted(there)) or "none"
            raise WrongRequest(f"quota: name one of the elastic quotas of {asked.namespace} (there are: {known})")
        spec = ElasticQuotaSpec() if old is None else old.spec
        changed = msgspec.structs.replace(
            spec, max=_bounds(spec.max, asked.max, "max"), min=_bounds(spec.min, asked.min, "min")
        )
        if old is None:
            self.simulation.objects.added(ElasticQuota(Metadata(name, asked.namespace, f"quota/{name}"), changed))
        else:
            self.simulation.objects.updated(old, msgspec.structs.replace(old, spec=changed))
        yield

    def _chosen(self, asked: SomeNodes) -> list[NodeInfo]:
        found = {name: self._node(name) for name in asked.nodes}
        if asked.selector:
            matches = _matcher(asked.selector).matches
            chosen = [info for info in self.simulation.cache.columns.infos if matches(info.labels)]
            if not chosen:
                raise WrongRequest(f"no node has {asked.selector}; `kubectl get nodes --show-labels` lists labels")
            found |= {info.name: info for info in chosen}
        return list(found.values())

    def _node(self, name: str) -> NodeInfo:
        info = self.simulation.cache.find_node(name)
        if info is None:
            near = did_you_mean(name, (each.name for each in self.simulation.cache.columns.infos))
            raise WrongRequest(f"there is no node {name}; {near or '`kubectl get nodes` lists all of them'}")
        return info

    def _update(self, info: NodeInfo, **fields: Any) -> None:
        old = info.node
        self.simulation.nodes.updated(old, _with(old, **fields))


def _with(node: Node, **fields: Any) -> Node:
    """Return the same node with other labels, taints, or cordoned."""
    labels = fields.get("labels", node.labels)
    metadata = msgspec.structs.replace(node.metadata, labels=labels)
    changed = Node(NodeObject(metadata, NodeSpec(), NodeStatus()))
    for name in Node.__slots__:
        if name not in ("metadata", "labels"):
            setattr(changed, name, fields.get(name, getattr(node, name)))
    return changed


def _matcher(selector: str) -> LabelMatcher:
    try:
        return compile_label_selector(LabelSelector(match_expressions=tuple(selector_in(selector))))
    except (InvalidSelector, ValueError) as error:
        raise WrongRequest(f"selector {selector}: {error}") from None


def _is_relative(asked: Quota) -> bool:
    amounts: Iterable[str | int | float] = (*asked.max.values(), *asked.min.values())
    return any(str(amount).startswith(("+", "-")) for amount in amounts)


def _bounds(before: Amounts | None, asked: Amounts, name: str) -> Amounts | None:
    if not asked:
        return before
    changed = dict(before or {})
    for resource, amount in asked.items():
        try:
            wanted = parse(amount)
            if str(amount).startswith(("+", "-")):
                if resource not in changed:
                    problem = f"the quota has no {name} of {resource} to change by {amount}; give an amount"
                    raise WrongRequest(f"quota.{name}: {problem}")
                there = parse(changed[resource])
                wanted = Quantity(there.nanos + wanted.nanos, there.form)
        except InvalidQuantity as error:
            raise WrongRequest(f"quota.{name}: {resource}: {error}") from None
        if wanted.nanos < 0:
            raise WrongRequest(f"quota.{name}: {resource} would be {wanted}; leave at least 0")
        changed[resource] = str(wanted)
    return changed
