"""A pydantic model as the structural schema of a CustomResourceDefinition."""

from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic import BaseModel

Schema: TypeAlias = dict[str, Any]

# What both sides write alike, in the order in which a person reads it.
_CARRIED = (
    "description",
    "type",
    "format",
    "default",
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
    "required",
)
_RESHAPED = ("$ref", "anyOf", "const", "properties", "items", "additionalProperties")
_DROPPED = ("$defs", "title")


class NotStructural(ValueError):
    """The model says something that a CustomResourceDefinition cannot."""


def structural_schema(model: type[BaseModel]) -> Schema:
    """The schema of a model: nothing referred to, nothing nullable, nothing that the API server would refuse."""
    given = model.model_json_schema(by_alias=True)
    return _converted(given, given.get("$defs", {}), model.__name__)


def _converted(given: Schema, definitions: Schema, at: str) -> Schema:
    given = _resolved(given, definitions, at)
    if strange := set(given) - {*_CARRIED, *_RESHAPED, *_DROPPED}:
        raise NotStructural(f"{at}: no way to say {', '.join(sorted(strange))} in a CustomResourceDefinition")
    if "type" not in given:
        raise NotStructural(f"{at}: a type is needed")
    # A default of null is how a model says that the field may be absent.
    schema = {key: given[key] for key in _CARRIED if key in given and (key != "default" or given[key] is not None)}
    if "const" in given:
        schema["enum"] = [given["const"]]
    if "items" in given:
        schema["items"] = _converted(given["items"], definitions, f"{at}[]")
    return schema | _contents(given, lambda part, name: _converted(part, definitions, f"{at}.{name}"))


def _contents(given: Schema, convert: Callable[[Schema, str], Schema]) -> Schema:
    if "properties" in given:
        # Unknown fields are pruned, or refused where a client asks for it; `false` is forbidden here.
        if given.get("additionalProperties", False) is not False:
            raise NotStructural(f"{given.get('title')}: fields and free keys cannot stand side by side")
        return {"properties": {name: convert(part, name) for name, part in given["properties"].items()}}
    match given.get("additionalProperties"):
        case True:
            return {"x-kubernetes-preserve-unknown-fields": True}
        case dict() as value:
            return {"additionalProperties": convert(value, "*")}
        case _:
            return {}


def _resolved(given: Schema, definitions: Schema, at: str) -> Schema:
    """Put what is referred to, or may be null, in its place; what is said of the field itself wins."""
    if "$ref" in given:
        own = {key: value for key, value in given.items() if key != "$ref"}
        return _resolved(definitions[given["$ref"].rpartition("/")[2]] | own, definitions, at)
    if "anyOf" in given:
        own = {key: value for key, value in given.items() if key != "anyOf"}
        kinds = [kind for kind in given["anyOf"] if kind != {"type": "null"}]
        if len(kinds) != 1:
            raise NotStructural(f"{at}: a field has one type, or may be absent")
        return _resolved(kinds[0] | own, definitions, at)
    return given
