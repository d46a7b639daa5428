"""The events in an update of a pod or a node."""

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.model.node import Node
from pilotage.model.pod import Pod

# Created once: every status update of every pod uses them.
POD_EVENTS = {
    resource: {action: Event(resource, action) for action in Action.__members__.values()}
    for resource in (Resource.ASSIGNED_POD, Resource.TARGET_POD, Resource.UNSCHEDULED_POD)
}
NODE_EVENTS = {action: Event(Resource.NODE, action) for action in Action.__members__.values()}


def pod_events(old: Pod, new: Pod, *, target: bool) -> list[Event]:
    """Return one event for each change, or a general one; `target` means the pending pod itself."""
    waiting = Resource.TARGET_POD if target else Resource.UNSCHEDULED_POD
    events = POD_EVENTS[Resource.ASSIGNED_POD if new.node_name else waiting]
    return [events[action] for action in _pod_changes(old, new) or (Action.UPDATE,)]


def node_events(old: Node, new: Node) -> list[Event]:
    """Return one event for each change that can help a pod; none for a heartbeat or a cordon."""
    return [NODE_EVENTS[action] for action in _node_changes(old, new)]


def _pod_changes(old: Pod, new: Pod) -> list[Action]:
    changes = [] if old.labels == new.labels else [Action.UPDATE_POD_LABEL]
    changes += _resized(old, new)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        changes.append(Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    # Tolerations can only be added, so comparing their number is enough.
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        changes.append(Action.UPDATE_POD_TOLERATION)
    if old.status.resource_claim_statuses != new.status.resource_claim_statuses:
        changes.append(Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    return changes


def _resized(old: Pod, new: Pod) -> list[Action]:
    before, after = old.usage, new.usage
    if before is after or before == after:
        return []
    # A removed resource counts as scaled down, even if its amount was zero.
    down = any(resource not in after or amount > after[resource] for resource, amount in before.items())
    up = any(resource not in before or amount > before[resource] for resource, amount in after.items())
    return [Action.UPDATE_POD_SCALE_DOWN] * down + [Action.UPDATE_POD_SCALE_UP] * up


def _node_changes(old: Node, new: Node) -> list[Action]:
    changes = (
        # A cordon helps no pod; uncordoning removes a taint.
        (Action.UPDATE_NODE_TAINT, old.unschedulable and not new.unschedulable),
        (Action.UPDATE_NODE_ALLOCATABLE, _capacity(old) != _capacity(new)),
        (Action.UPDATE_NODE_LABEL, old.labels != new.labels),
        (Action.UPDATE_NODE_TAINT, old.taints != new.taints),
        (Action.UPDATE_NODE_CONDITION, _statuses(old) != _statuses(new)),
        (Action.UPDATE_NODE_ANNOTATION, old.annotations != new.annotations),
        (Action.UPDATE_NODE_DECLARED_FEATURE, old.declared_features != new.declared_features),
    )
    return [action for action, changed in changes if changed]


def _capacity(node: Node) -> tuple[dict[str, int], int]:
    return node.allocatable, node.allowed_pods


def _statuses(node: Node) -> dict[str, str]:
    # Reasons and times change with every heartbeat.
    return {condition.type: condition.status for condition in node.conditions}
