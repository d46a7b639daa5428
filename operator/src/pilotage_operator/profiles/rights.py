"""The permissions and resources that the plugins of a profile need."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from pilotage.framework.api.plugin import Permission
from pilotage.kinds.node_metrics import NodeMetrics
from pilotage.scheduler_profiles.judge import Complaint, Verdict
from pilotage_operator.profiles.world import Answer, Right

MISSING_PERMISSION, MISSING_CRD = "MissingPermission", "MissingCRD"
METRICS = NodeMetrics.api.group  # served by metrics-server, not by a CRD


def needed(verdicts: Iterable[Verdict]) -> frozenset[Right]:
    """Return all permissions to check for these profiles."""
    return frozenset(
        Right(permission.group, permission.resource, verb)
        for verdict in verdicts
        for _, permission in verdict.needs
        for verb in permission.verbs
    )


def missing(
    verdict: Verdict, answers: Mapping[Right, Answer], user: str, is_ours: Callable[[str], bool]
) -> tuple[Complaint, ...]:
    """Return a complaint for every resource that is not served and every verb that is not allowed."""
    found: dict[Complaint, None] = {}
    for plugin, permission in _together(verdict.needs):
        resource = f"{permission.resource}.{permission.group}" if permission.group else permission.resource
        rights = [Right(permission.group, permission.resource, verb) for verb in permission.verbs]
        at = _place(verdict, plugin)
        if any(answers.get(right) == "unserved" for right in rights):
            text = f"{at}: {plugin} needs {resource}, which the cluster does not serve"
            fix = f"install {_provider(permission.group, resource)}, or disable {plugin}"
            found[Complaint(MISSING_CRD, f"{text}; {fix}")] = None
        elif denied := [right.verb for right in rights if answers.get(right) == "denied"]:
            text = f"{at}: {plugin} requires {', '.join(denied)} on {resource}, which {user} is not granted"
            fix = f"add {plugin} to rbac.plugins of the chart" if is_ours(plugin) else _rule(permission, denied)
            found[Complaint(MISSING_PERMISSION, f"{text}; {fix}")] = None
    return tuple(found)


def _together(needs: Iterable[tuple[str, Permission]]) -> Iterator[tuple[str, Permission]]:
    """Yield each plugin's permissions on a resource combined, because one rule grants all of them."""
    verbs: dict[tuple[str, str, str], dict[str, None]] = {}
    for plugin, permission in needs:
        wanted = verbs.setdefault((plugin, permission.group, permission.resource), {})
        wanted |= dict.fromkeys(permission.verbs)
    for (plugin, group, resource), wanted in verbs.items():
        yield plugin, Permission(group, resource, tuple(wanted))


def _rule(permission: Permission, verbs: Iterable[str]) -> str:
    """Return the fix for missing permissions of a custom plugin."""
    group, resource = permission.group or '""', permission.resource
    rule = f"{{apiGroups: [{group}], resources: [{resource}], verbs: [{', '.join(verbs)}]}}"
    return f"add to rbac.extraRules of the chart: {rule}"


def _provider(group: str, resource: str) -> str:
    """Return what to install so that the cluster serves a resource."""
    if group == METRICS:
        return "metrics-server, or set another source of metrics with watcherAddress or metricProvider in the arguments"
    return f"the CustomResourceDefinition {resource.partition('/')[0]}"


def _place(verdict: Verdict, plugin: str) -> str:
    named = any(entry.name == plugin for entry in verdict.spec.plugins)
    return f"spec.plugins[name={plugin}]" if named else f"spec.base: {verdict.spec.base}"
