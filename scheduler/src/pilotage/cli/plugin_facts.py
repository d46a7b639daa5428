"""Everything that a plugin says about itself, as plain data."""

from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.types import Section
from pilotage.framework.api.events import NAMES, Action, Retry, title_of
from pilotage.framework.api.plugin import Permission
from pilotage.framework.runtime.reading import rights_to_read
from pilotage.plugins.catalogue import Entry

_NAMES_OF_TYPES = {str: "text", int: "whole number", float: "number", bool: "true or false", NoneType: "nothing"}


def facts(entry: Entry) -> dict[str, Any]:
    """Return what `pilotage plugins -o json` prints of a plugin."""
    plugin = entry.plugin
    points = plugin.points()
    return {
        "name": plugin.name,
        "description": entry.description,
        "origin": entry.origin,
        "extensionPoints": [point.value for point in ExtensionPoint if point in points],
        "dependsOn": plugin.depends_on.value,
        "arguments": arguments(entry),
        "events": [_event(retry) for retry in plugin.retry_on],
        "reads": [{"group": kind.api.group, "kind": kind.api.name} for kind in plugin.reads],
        "permissions": [_permission(permission) for permission in permissions(entry)],
    }


def arguments(entry: Entry) -> list[dict[str, Any]]:
    """Return the arguments of a plugin; one without a default must be given."""
    defaults = entry.read_arguments({}, ()).value
    found = []
    for name, field in entry.plugin.Args.model_fields.items():
        alias, default = field.alias or name, field.get_default(call_default_factory=True)
        required = default is PydanticUndefined
        described = {"name": alias, "type": type_name(field.annotation), "required": required}
        if not required:
            described["default"] = defaults.get(alias, None if default is None else _empty(default))
        found.append({**described, "description": field.description or ""})
    return found


def permissions(entry: Entry) -> list[Permission]:
    """Return a plugin's permissions: to read the objects that it looks up, and those that it declares."""
    return [*rights_to_read(entry.plugin), *entry.plugin.permissions]


def actions(retry: Retry) -> list[str]:
    """Return the names of the changes that an event stands for: Add, UpdateNodeLabel."""
    if retry.action in NAMES:
        return [NAMES[retry.action]]
    kinds = retry.action & ~Action.UPDATE if Action.UPDATE in retry.action else retry.action
    named = [NAMES[action] for action in Action if action in kinds and action.value.bit_count() == 1]
    return [*named, "Update"] if kinds != retry.action else named


def type_name(annotation: Any) -> str:
    """Return a type's name for users."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_name(parts[0])
    if origin in (Union, UnionType):
        return " or ".join(type_name(part) for part in parts if part is not NoneType)
    if origin is Literal:
        return " or ".join(repr(part) for part in parts)
    if origin in (tuple, list, set, frozenset):
        return f"list of {type_name(parts[0])}" if parts else "list"
    if origin is dict:
        return f"map of {type_name(parts[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return f"map ({', '.join(field.alias or name for name, field in annotation.model_fields.items())})"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(str(each.value) for each in annotation)
    return _NAMES_OF_TYPES.get(annotation) or str(getattr(annotation, "__name__", annotation))


def _event(retry: Retry) -> dict[str, Any]:
    return {"resource": title_of(retry.resource), "actions": actions(retry), "hint": retry.hint}


def _permission(permission: Permission) -> dict[str, Any]:
    return {"group": permission.group, "resource": permission.resource, "verbs": list(permission.verbs)}


def _empty(default: Any) -> Any:
    """Return a default that is omitted when a configuration is written."""
    if isinstance(default, tuple | list | set | frozenset):
        return list(default)
    return default if isinstance(default, str | int | float | bool | dict) else str(default)
