"""The CustomResourceDefinition of SchedulerProfile."""

from typing import Any

import yaml

from generate.structural_schema import Schema, structural_schema
from pilotage.scheduler_profiles import resource

SOURCE = "scheduler/src/pilotage/scheduler_profiles/resource.py"
HEADER = f"generated from {SOURCE} by make generate; do not edit"

# Name, type, where it is; Age is last by custom, and what follows it is shown by `-o wide` alone.
COLUMNS = (
    ("Scheduler", "string", ".status.schedulerName"),
    ("Plugins", "integer", ".status.pluginCount"),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    ("Reason", "string", '.status.conditions[?(@.type=="Ready")].reason'),
    ("Replicas", "string", ".status.replicas"),
    ("Age", "date", ".metadata.creationTimestamp"),
)
WIDE_COLUMNS = (("Message", "string", '.status.conditions[?(@.type=="Ready")].message'),)


def text() -> str:
    """The file, whole."""
    return f"# {HEADER}\n{yaml.dump(definition(), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)}"


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.PLURAL}.{resource.GROUP}"},
        "spec": {
            "group": resource.GROUP,
            "scope": "Cluster",
            "names": {
                "kind": resource.KIND,
                "listKind": f"{resource.KIND}List",
                "plural": resource.PLURAL,
                "singular": resource.SINGULAR,
                "shortNames": [resource.SHORT_NAME],
                "categories": [resource.CATEGORY],
            },
            "versions": [_version()],
        },
    }


def schema() -> Schema:
    """The schema of a whole SchedulerProfile."""
    found = structural_schema(resource.SchedulerProfile)
    # Every resource has these; they are no fields of the model.
    common = {
        "apiVersion": {"description": f"{resource.API_VERSION}.", "type": "string"},
        "kind": {"description": f"{resource.KIND}.", "type": "string"},
        "metadata": {"type": "object"},  # more must not be said
    }
    return found | {"properties": common | found["properties"]}


def _version() -> dict[str, Any]:
    return {
        "name": resource.VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            *({"name": name, "type": kind, "jsonPath": path} for name, kind, path in COLUMNS),
            *({"name": name, "type": kind, "priority": 1, "jsonPath": path} for name, kind, path in WIDE_COLUMNS),
        ],
        "schema": {"openAPIV3Schema": without_defaults_in_lists(schema())},
    }


def without_defaults_in_lists(found: Schema, *, inside: bool = False) -> Schema:
    """The same schema, where the API server adds nothing to the entries of a list.

    `kubectl apply` compares a list of a custom resource as a whole: an entry with a field that was not written differs
    forever from what was applied, and each apply of an unchanged manifest would write. The operator knows the
    defaults.
    """
    kept = {key: value for key, value in found.items() if not (inside and key == "default")}
    if "properties" in kept:
        parts = kept["properties"].items()
        kept["properties"] = {name: without_defaults_in_lists(part, inside=inside) for name, part in parts}
    if "items" in kept:
        kept["items"] = without_defaults_in_lists(kept["items"], inside=True)
    return kept


class _Plain(yaml.SafeDumper):
    """Writes a thing twice where it is needed twice, and lists under their key as people write them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
