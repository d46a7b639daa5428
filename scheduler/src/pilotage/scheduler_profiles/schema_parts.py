"""What every map of a resource is made with: its fields by their camelCase names, and what its schema says besides."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel

Duration = Annotated[str, StringConstraints(max_length=32, pattern=r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$")]


def rules(*pairs: tuple[str, str]) -> dict[str, Any]:
    """What a schema says about fields that depend on each other: CEL that must hold, and the message if it does not."""
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in pairs]}


def list_by(key: str) -> dict[str, Any]:
    """What a schema says about a list whose entries are told apart by a field, so that several people can own some."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


class Part(BaseModel):
    """One map of the resource."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)
