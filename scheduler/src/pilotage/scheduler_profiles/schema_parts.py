"""The building blocks of the resource's models: fields with camelCase names, and extensions of the schema."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel

Duration = Annotated[str, StringConstraints(max_length=32, pattern=r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$")]


def rules(*pairs: tuple[str, str]) -> dict[str, Any]:
    """Return the schema of rules between fields: CEL that must hold, and the message otherwise."""
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in pairs]}


def list_by(key: str) -> dict[str, Any]:
    """Return the schema of a list whose entries are identified by a field, so that they can have different owners."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


class Part(BaseModel):
    """One map of the resource."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)
