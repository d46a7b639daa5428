"""Why one pod goes where it goes: the table of nodes and plugins."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from pilotage.cli.explain_gang import gang_data, gang_line
from pilotage.cli.explain_remedies import remedies_data, remedies_text
from pilotage.cli.results import as_data, score_data
from pilotage.cli.tables import table
from pilotage.framework.api.verdicts import QUEUED, WAITING_FOR_GROUP
from pilotage.offline.results import Result
from pilotage.scheduling.explanation import Explanation, NodeVerdict
from pilotage.scheduling.remedies import Remedies

HELD = (QUEUED, WAITING_FOR_GROUP)
LEGEND = "Scores are raw -> normalised; a total adds up normalised x weight, and the highest wins."


def explained_data(result: Result, explanation: Explanation | None, remedies: Remedies | None = None) -> dict[str, Any]:
    """Return a pod's result and all verdicts as data; docs/simulate.md describes it."""
    story = explanation or Explanation([])
    before = None
    if story.before is not None:
        before = {"plugin": story.before.plugin, "reasons": list(story.before.reasons)}
    nodes = [_node_data(node) for node in story.nodes]
    told = {"before": before, "gang": gang_data(story.gang), "nodes": nodes}
    return {**as_data(result), **told, **remedies_data(remedies)}


def explained_text(result: Result, explanation: Explanation | None, remedies: Remedies | None = None) -> str:
    """Return the same as text."""
    return "\n".join([_story(result, explanation), *remedies_text(remedies)])


def _story(result: Result, explanation: Explanation | None) -> str:
    lines = [f"{result.name}  {_fate(result)}"]
    if result.victims:
        lines.append(f"  Evicted for it: {', '.join(result.victims)}")
    if explanation is None:
        return "\n".join([*lines, "  It was rejected before any node was considered."])
    if explanation.gang is not None:
        lines.append(f"  {gang_line(explanation.gang, fits=bool(explanation.feasible))}")
    if explanation.before is not None:
        reasons = explanation.before.message
        return "\n".join([*lines, f"  Before any node was considered, {explanation.before.plugin} said: {reasons}"])
    if not explanation.nodes:
        return "\n".join(lines)
    weights = {name: score.weight for node in explanation.nodes for name, score in node.scores.items()}
    idle = [name for name in weights if not any(_is_above_zero(node, name) for node in explanation.nodes)]
    lines.append(_node_table(explanation, result.node, {name: weights[name] for name in weights if name not in idle}))
    lines += [f"  {LEGEND}"] if weights else []
    lines += [f"  Zero for every node: {', '.join(idle)}."] if idle else []
    return "\n".join(lines)


def _fate(result: Result) -> str:
    if result.node is not None:
        return f"goes to {result.node}"
    held = f" ({result.reason}: no other node would help)" if result.reason in HELD else ""
    waits = f"waits{held}: {result.message}"
    return f"{waits} (nominated: {result.nominated_node})" if result.nominated_node else waits


def _is_above_zero(node: NodeVerdict, plugin: str) -> bool:
    score = node.scores.get(plugin)
    return score is not None and (score.raw, score.normalized) != (0, 0)


def _node_table(explanation: Explanation, chosen: str | None, weights: Mapping[str, int]) -> str:
    nodes = sorted(explanation.nodes, key=lambda node: (node.rejection is not None, node.node != chosen, -node.total))
    scored = any(node.scores for node in nodes)
    header = ["NODE", "FITS", "BECAUSE", *(f"{name} x{weight}" for name, weight in weights.items())]
    rows = [[node.node, "no" if node.rejection else "yes", "", *_cells(node, weights)] for node in nodes]
    if scored:
        header.append("TOTAL")
        for row, node in zip(rows, nodes, strict=True):
            row.append(str(node.total) if node.scores else "")
    title, *lines = table(header, rows, right=range(3, len(header)), indent="  ").splitlines()
    # A node that does not fit has no scores, so its reason may use their columns.
    start = title.index("BECAUSE")
    told = [line if node.scores else f"{line:{start}}{_because(node)}" for line, node in zip(lines, nodes, strict=True)]
    return "\n".join([title, *told])


def _cells(node: NodeVerdict, plugins: Mapping[str, int]) -> list[str]:
    return [
        f"{node.scores[name].raw} -> {node.scores[name].normalized}" if name in node.scores else "" for name in plugins
    ]


def _because(node: NodeVerdict) -> str:
    if node.rejection is None:
        return "the only node that fits, so it needs no score"
    reasons = zip_longest(node.rejection.reasons, node.details, fillvalue="")
    text = ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in reasons)
    told = f"{node.rejection.plugin}: {text}" if node.rejection.plugin else text
    return f"{told}; {node.spared}" if node.spared else told


def _node_data(node: NodeVerdict) -> dict[str, Any]:
    rejection = node.rejection
    return {
        "node": node.node,
        "fits": rejection is None,
        "plugin": rejection.plugin if rejection else "",
        "reasons": list(rejection.reasons) if rejection else [],
        "details": list(node.details),
        "spared": node.spared,
        "preemptionHelps": rejection.preemption_helps if rejection else False,
        "scores": {name: score_data(score) for name, score in node.scores.items()},
        "total": node.total,
    }
