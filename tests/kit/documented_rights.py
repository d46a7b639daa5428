"""The tables of rights in docs/operations.md, for tests that hold them against the chart and against a cluster."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from localcluster.paths import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "operations.md"
SCHEDULER = "The scheduler's account, always"
PLUGINS = "The scheduler's account, for each plugin"
OPERATOR = "The operator's account"
CONTROLLERS = "The operator's account, for each controller"
TEST = "The account of `helm test`"
PEOPLE = "People"
EXPLAINER = "Users of `pilotage explain`"

# Where, group, resource, verb, name.
Right: TypeAlias = tuple[str, str, str, str, str]


def rights(rules: Iterable[Mapping[str, Any]], where: str = "cluster") -> Iterator[Right]:
    """Walk through the rules of a role, one right at a time; what is no resource is left out."""
    for rule in rules:
        for group in rule.get("apiGroups", ()):
            for resource in rule.get("resources", ()):
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames") or [""]:
                        yield where, group, resource, verb, name


def documented(heading: str, fullname: str, namespace: str, **only: str) -> list[Right]:
    """Return the rights of a table, with the names of a release in place of F and NAMESPACE; `only` chooses rows."""
    return [
        (
            row.get("where", "cluster").replace("NAMESPACE", namespace),
            row["group"],
            resource,
            verb,
            re.sub(r"^F-", f"{fullname}-", row.get("names", "")).replace("NAMESPACE", namespace),
        )
        for row in table(heading)
        if only.items() <= row.items()
        for resource in row["resources"].split(", ")
        for verb in row["verbs"].split(", ")
    ]


def table(heading: str) -> list[dict[str, str]]:
    """Return the rows of the table below a heading, by the words of its first row."""
    part = DOCUMENT.read_text(encoding="utf-8").partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
    lines = re.findall(r"^\|.*\|$", part, re.MULTILINE)
    head, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return [dict(zip(head, row, strict=True)) for row in rows]
