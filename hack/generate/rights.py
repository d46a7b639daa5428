"""Who may do what, from what plugins and controllers declare: the chart's tables, and those of docs/operations.md."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from localcluster.paths import REPOSITORY
from pilotage.framework.api.plugin import Permission
from pilotage.framework.runtime.reading import rights_to_read
from pilotage.plugins.catalogue import BUILT_IN, built_in
from pilotage_operator.controllers.registry import CONTROLLERS, Controller, rights_of

DOCUMENT = REPOSITORY / "docs" / "operations.md"
METRICS = "metrics.k8s.io"  # which `pilotage explain` does not read
VERBS = ("get", "list", "watch", "create", "patch", "delete")
_PLUGINS_HEAD = """\
# What each plugin must be allowed to do, as the rules of a ClusterRole of its own; generated from what the plugins
# declare (`pilotage plugins NAME`) by make generate, do not edit. A plugin that is not here needs nothing more than
# the scheduler itself.
"""
_CONTROLLERS_HEAD = """\
# What each controller must be allowed to do, as the rules of a ClusterRole of its own; generated from what the
# controllers declare by make generate, do not edit.
"""
Rules = dict[str, list[Permission]]  # by plugin or controller; a resource may be several, with commas between them
_TABLE = re.compile(r"\| .*\|\n\| --- .*\|\n(?:\|.*\|\n)+")


def of_plugins() -> Rules:
    """Return the rules of each plugin that needs any, in the order in which it declares them."""
    declared = {
        entry.plugin.name: [*rights_to_read(entry.plugin), *entry.plugin.permissions]
        for entry in built_in()
        if entry.origin == BUILT_IN
    }
    return {plugin: list(_together(rights)) for plugin, rights in declared.items() if rights}


def of_controllers() -> Rules:
    """Return the rules of each controller."""
    return {each.resource.kind: list(_together(_sorted(each))) for each in CONTROLLERS}


def of_explainers() -> list[Permission]:
    """Return the permissions for `pilotage explain`: everything that any plugin reads."""
    read: dict[str, set[str]] = {"": {"events", "nodes", "pods"}}
    for rule in (rule for rules in of_plugins().values() for rule in rules):
        if "list" in rule.verbs and rule.group != METRICS:
            read.setdefault(rule.group, set()).update(rule.resource.split(", "))
    lists = [Permission(group, ", ".join(sorted(read[group])), ("list",)) for group in sorted(read)]
    return [lists[0], Permission("", "configmaps", ("get", "list")), *lists[1:]]


def _sorted(controller: Controller) -> list[Permission]:
    """Return the rights of a controller resource by resource: first its own, events last."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for group, resource, verb in sorted(rights_of(controller), key=lambda right: VERBS.index(right[2])):
        verbs.setdefault((group, resource), []).append(verb)
    own = controller.resource.group
    order = sorted(verbs, key=lambda each: (each[0] != own, each[0], each[1]))
    return [Permission(*each, tuple(verbs[each])) for each in order]


def _together(rights: Iterable[Permission]) -> Iterator[Permission]:
    """Join neighbours that differ in nothing but their resource."""
    for (group, verbs), same in groupby(rights, key=lambda each: (each.group, each.verbs)):
        yield Permission(group, ", ".join(each.resource for each in same), verbs)


def plugins_text() -> str:
    """The chart's table of plugins."""
    return _PLUGINS_HEAD + _yaml(of_plugins())


def controllers_text() -> str:
    """The chart's table of controllers."""
    return _CONTROLLERS_HEAD + _yaml(of_controllers())


def _yaml(rules: Rules) -> str:
    lines = []
    for name, given in rules.items():
        lines.append(f"{name}:")
        for each in given:
            group, verbs = each.group or '""', ", ".join(each.verbs)
            lines += [f"- apiGroups: [{group}]", f"  resources: [{each.resource}]", f"  verbs: [{verbs}]"]
    return "\n".join(lines) + "\n"


def document_text() -> str:
    """docs/operations.md, with the tables of rights as they are declared."""
    text = DOCUMENT.read_text(encoding="utf-8")
    text = _with_table(text, "The scheduler's account, for each plugin", _rows(of_plugins()))
    text = _with_table(text, "The operator's account, for each controller", _rows(of_controllers()), kept=", with ")
    return _with_table(text, "Users of `pilotage explain`", [_cells(each) for each in of_explainers()])


def _rows(rules: Rules) -> list[str]:
    return [f"| {name} {_cells(each)}" for name, given in rules.items() for each in given]


def _cells(rule: Permission) -> str:
    return f"|{f' {rule.group} ' if rule.group else ' '}| {rule.resource} | {', '.join(rule.verbs)} |"


def _with_table(text: str, heading: str, rows: list[str], kept: str = "") -> str:
    """Return a text with other rows in the table below a heading; of the old ones those with these words stay."""
    begin = text.index(f"\n### {heading}\n")
    found = _TABLE.search(text, begin)
    assert found is not None, heading
    head, line, *old = found[0].splitlines()
    stay = [row for row in old if kept and kept in row]
    new = sorted([*rows, *stay], key=lambda row: row.split("|")[1]) if kept else rows
    return text[: found.start()] + "\n".join((head, line, *new)) + "\n" + text[found.end() :]
