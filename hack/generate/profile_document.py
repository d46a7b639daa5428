"""docs/schedulerprofile.md: every field and condition of SchedulerProfile, for people."""

from collections.abc import Iterator, Sequence

from generate.profile_crd import HEADER, schema
from generate.structural_schema import Schema
from localcluster.paths import REPOSITORY
from pilotage_operator.condition_reasons import CONDITIONS, ConditionType

EXAMPLES = REPOSITORY / "examples" / "profiles"
FIRST_EXAMPLE = "priority.yaml"

SPEC_COLUMNS = ("field", "type", "default", "bounds", "what it is")
# Written only by the operator.
STATUS_COLUMNS = ("field", "type", "what it is")

_INTRODUCTION = """\
# SchedulerProfile

A SchedulerProfile defines one scheduler: the schedulerName of its pods, and their scheduling policy, as differences
from kube-scheduler's default plugins; an empty one behaves like kube-scheduler. It is cluster-scoped, and its short
name is `schedprof`.

{example}

```sh
kubectl apply -f examples/profiles/{first}
kubectl wait --for=condition=Ready schedprof/priority     # every replica of the scheduler runs it
kubectl get schedprof                                     # scheduler name, plugins, Ready with its reason, replicas
kubectl get schedprof -o wide                             # also the complete message
kubectl describe schedprof priority                       # all conditions, and the events
kubectl explain schedprof.spec.plugins                    # the fields on this page
```

A pod uses it by its name:

```yaml
spec:
  schedulerName: priority-scheduler
```

More examples:

{others}

## What happens to a change

1. The API server rejects what violates a bound or a rule on this page, with a message that says what to do.
2. The operator validates the rest with the scheduler's code: plugins, arguments, permissions, the other profiles. The
   condition `Accepted` lists all errors. The previous spec keeps running.
3. The spec is applied, and each replica of the scheduler acknowledges it: `Ready`. No pod is lost, and with `HotReload`
   no process restarts.
4. If a replica rejects it, if not all acknowledge it in time, or if a plugin then fails on every pod, the last good
   spec is restored automatically: `RolledBack` says why. The same spec is not retried.

## One plugin, on or off

```sh
pilotage profile disable priority Priority
pilotage profile enable priority Priority --dry-run       # shows the change without applying it
pilotage profile enable priority Priority
```

Only the plugin's entry is changed; its weight and arguments stay, and concurrent edits of the profile are not
lost. The command shows the change, waits until every replica runs it, or until it is rejected or rolled back, and says
so. A plugin without an entry gets one. It requires `get` and `patch` on the profile.

| exit code | meaning |
| --- | --- |
| 0 | every replica runs it, or there was nothing to change; with `--no-wait` or `--dry-run`, it was accepted |
| 3 | rejected or rolled back: the previous spec keeps running, and the text says why |
| 4 | not known within `--timeout` (90 seconds), or the profile was changed again meanwhile |
| 2 | the profile could not be read or changed |

With kubectl alone, a JSON patch names the entry by its place in the list, and `test` makes sure that it is the right
one:

```sh
kubectl patch schedprof priority --type=json -p '[
    {{"op": "test", "path": "/spec/plugins/0/name", "value": "Priority"}},
    {{"op": "add", "path": "/spec/plugins/0/enabled", "value": false}}]'
```

`kubectl patch --type=merge` does not work for this: it replaces the whole list. If all authors of a profile use
`kubectl apply --server-side`, each with a `--field-manager` of their own, everybody can apply a file with just their
own entries: they are merged by plugin name. After a plain `kubectl apply` this does not work: kubectl removes the
other entries.

Deleting a profile takes its scheduler out of service; its pods wait, and none is lost.
"""


def text() -> str:
    """The file, whole."""
    resource = schema()["properties"]
    parts = [
        f"<!-- {HEADER} -->\n",
        _introduction(),
        "## spec\n\n" + "\n".join(_sections("spec", resource["spec"], SPEC_COLUMNS)),
        "## Rules\n\nThe API server rejects a resource that violates one of these, with these messages.\n\n"
        + _rules(schema()),
        "## status\n\nWritten by the operator alone.\n\n"
        + "\n".join(_sections("status", resource["status"], STATUS_COLUMNS)),
        "## Conditions\n\n" + "\n".join(_condition(condition) for condition in CONDITIONS),
    ]
    return "\n".join(parts)


def _introduction() -> str:
    files = sorted(path for path in EXAMPLES.glob("*.yaml") if path.name != FIRST_EXAMPLE)
    others = "\n".join(
        f"- [{path.name}](../examples/profiles/{path.name}): {_first_line(path.read_text())}" for path in files
    )
    example = f"```yaml\n{(EXAMPLES / FIRST_EXAMPLE).read_text()}```"
    return _INTRODUCTION.format(example=example, first=FIRST_EXAMPLE, others=others)


def _first_line(document: str) -> str:
    return document.splitlines()[0].removeprefix("# ")


def _sections(path: str, found: Schema, columns: Sequence[str]) -> Iterator[str]:
    """A table for this map, then one for each map inside it."""
    required = found.get("required", ())
    cells = [_cells(name, field, is_required=name in required) for name, field in found["properties"].items()]
    yield _table(columns, [[row[column] for column in columns] for row in cells])
    for name, field in found["properties"].items():
        inside, inside_path = (field["items"], f"{path}.{name}[]") if "items" in field else (field, f"{path}.{name}")
        if "properties" in inside:
            yield f"### {inside_path}\n\n{inside['description']}\n"
            yield from _sections(inside_path, inside, columns)


def _cells(name: str, field: Schema, *, is_required: bool) -> dict[str, str]:
    return {
        "field": f"`{name}`",
        "type": _type(field),
        "default": "required" if is_required else f"`{_as_yaml(field['default'])}`" if "default" in field else "",
        "bounds": ", ".join(_bounds(field)),
        "what it is": field["description"],
    }


def _as_yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(field: Schema) -> str:
    match field:
        case {"type": "array", "items": items}:
            keys = field.get("x-kubernetes-list-map-keys")
            return f"list of {_type(items)}" + (f", by {keys[0]}" if keys else "")
        case {"type": "object", "additionalProperties": value}:
            return f"map to {_type(value)}"
        case {"enum": words}:
            *others, last = (f"`{word}`" for word in words)
            return " or ".join(filter(None, (", ".join(others), last)))
        case {"type": "string", "format": form}:
            return {"date-time": "time", "byte": "base64"}[form]
        case _:
            return {"string": "text", "integer": "number", "boolean": "true or false", "object": "map"}[field["type"]]


def _bounds(field: Schema) -> Iterator[str]:
    lowest, highest = field.get("minimum"), field.get("maximum")
    if lowest is not None:
        yield f"{lowest:,} to {highest:,}" if highest is not None else f"{lowest:,} or more"
    for key, unit in (("maxLength", "characters"), ("maxItems", "entries"), ("maxProperties", "keys")):
        if key in field:
            yield f"at most {field[key]:,} {unit}"


def _condition(condition: ConditionType) -> str:
    rows = [(reason.status, f"`{reason.word}`", reason.meaning, reason.remedy) for reason in condition.reasons]
    return f"### {condition.name}\n\n{condition.question}\n\n{_table(('status', 'reason', 'meaning', 'do'), rows)}"


def _rules(found: Schema) -> str:
    return _table(("where", "what it says"), [(f"`{where}`", message) for where, message in _all_rules("", found)])


def _all_rules(path: str, found: Schema) -> Iterator[tuple[str, str]]:
    for rule in found.get("x-kubernetes-validations", ()):
        yield path.lstrip(".") or "the resource", rule["message"]
    for name, field in found.get("properties", {}).items():
        yield from _all_rules(f"{path}.{name}", field)
    if "items" in found:
        yield from _all_rules(f"{path}[]", found["items"])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
