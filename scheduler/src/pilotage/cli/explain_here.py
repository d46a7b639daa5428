"""A pod explained by this program: it reads the cluster once and decides in memory as the scheduler would."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pilotage.app.explaining import Answer, CannotExplain, LacksRights, Question, explain_in_file, explain_live
from pilotage.cli.cluster_flags import Asked
from pilotage.cli.command import BadInput
from pilotage.cli.explain_pod import explained_data, explained_text
from pilotage.cli.explain_remedies import remedies_text, why_not_data
from pilotage.cli.explain_words import KIND, By, Detail, grouped, groups_lines
from pilotage.cluster.credentials.access import find
from pilotage.model.pod import Pod
from pilotage.scheduling.explanation import Explanation

MANY = 50  # nodes; with more, groups are shown by default


class NotAllowed(Exception):
    """Rights to read what a decision needs are missing; the text says what to do."""


async def ask(asked: Asked, namespace: str, name: str, by: By) -> Answer:
    """Decide about a pod; NotAllowed or BadInput says why that is impossible."""

    def question(place: str) -> Question:
        chosen = by.configuration
        file = None if chosen.file is None else Path(chosen.file)
        return Question(place, name, file, chosen.config_map, chosen.plugin_folders, by.with_remedies, by.why_not)

    try:
        if asked.is_file:
            return explain_in_file(asked.source, question(namespace or "default"))
        way = asked.way
        access = find(way.kubeconfig, context=way.context, user=way.user, groups=way.groups)
        return await explain_live(access, question(namespace or access.namespace))
    except LacksRights as error:
        raise NotAllowed(str(error)) from None
    except CannotExplain as error:
        raise BadInput(str(error)) from None


def told(answer: Answer, detail: Detail) -> str:
    """Return the explanation as text."""
    story, groups = answer.explanation, list[str]()
    if story is not None and detail is not Detail.ALL:
        story, groups = _shortened(story, detail)
    first, *others = explained_text(answer.result, story, None).splitlines()
    if answer.pod.node_name:
        fate = first.removeprefix(f"{answer.pod.name}  ")
        first = f"{answer.pod.name}  is on {answer.pod.node_name}; if scheduled again now, it {fate}"
    said = status_message(answer.pod)
    if said and said != answer.result.message:
        others.insert(0, f"  Its status says: {said}")
    others += [*groups, *remedies_text(answer.remedies)]
    if answer.why_not is not None:
        others.append(f"  {answer.why_not.text}")
    return "\n".join([first, *others])


def data(answer: Answer, source: str) -> dict[str, Any]:
    """Return the explanation as data; docs/explain.md describes it."""
    now = {
        "kind": KIND,
        "source": source,
        "currentNode": answer.pod.node_name,
        "statusMessage": status_message(answer.pod),
    }
    story = explained_data(answer.result, answer.explanation, answer.remedies)
    return {**now, **story, **why_not_data(answer.why_not)}


def status_message(pod: Pod) -> str:
    """Return the last message of the pod's scheduler."""
    condition = pod.status.condition("PodScheduled")
    return condition.message if condition is not None and condition.status == "False" else ""


def _shortened(story: Explanation, detail: Detail) -> tuple[Explanation, list[str]]:
    """Return the explanation with a readable number of nodes, and lines about the others."""
    many = len(story.nodes) > MANY
    if not many:
        return story, []
    if detail is Detail.NODES:
        ranked = sorted(story.nodes, key=lambda node: (node.rejection is not None, -node.total))
        rest = len(ranked) - MANY
        return replace(story, nodes=ranked[:MANY]), [f"  {rest} more nodes are not shown; use --all."]
    rejected = [node for node in story.nodes if node.rejection is not None]
    rows: list[Mapping[str, Any]] = [
        {"node": node.node, "plugin": node.rejection.plugin, "reasons": list(node.rejection.reasons)}
        for node in rejected
        if node.rejection is not None
    ]
    fits = len(story.nodes) - len(rejected)
    best = sorted(story.feasible, key=lambda node: -node.total)[:MANY]
    lines = groups_lines(grouped(rows), fits=fits, total=len(story.nodes))
    return replace(story, nodes=best[:3]), [*lines, "  --nodes shows nodes one by one."]
