"""From a model to the schema of a CustomResourceDefinition."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from generate.structural_schema import NotStructural, structural_schema


class Inner(BaseModel):
    """One of several."""

    name: str = Field(max_length=5)


def field(annotation: Any, **options: Any) -> Any:
    model = type("Outer", (BaseModel,), {"__annotations__": {"x": annotation}, "x": Field(**options)})
    return structural_schema(model)["properties"]["x"]


INNER = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 5}}}


@pytest.mark.parametrize(
    ("annotation", "options", "expected"),
    [
        pytest.param(str, {"max_length": 3}, {"type": "string", "maxLength": 3}, id="a bound is kept"),
        pytest.param(int | None, {"default": None, "ge": 1}, {"type": "integer", "minimum": 1}, id="null is absent"),
        pytest.param(bool, {"default": True}, {"type": "boolean", "default": True}, id="a real default is kept"),
        pytest.param(bool, {"default": False}, {"type": "boolean", "default": False}, id="also one that is false"),
        pytest.param(
            list[int], {"default_factory": list}, {"type": "array", "items": {"type": "integer"}}, id="a list"
        ),
        pytest.param(Literal["a", "b"], {}, {"type": "string", "enum": ["a", "b"]}, id="one of some words"),
        pytest.param(Literal["a"], {}, {"type": "string", "enum": ["a"]}, id="only one word"),
        pytest.param(
            dict[str, Any],
            {"max_length": 4},
            {"type": "object", "maxProperties": 4, "x-kubernetes-preserve-unknown-fields": True},
            id="a free map",
        ),
        pytest.param(
            dict[str, int],
            {},
            {"type": "object", "additionalProperties": {"type": "integer"}},
            id="a map to values of one type",
        ),
        pytest.param(Inner, {}, INNER | {"description": "One of several."}, id="what is referred to is put in place"),
        pytest.param(
            Inner | None,
            {"default": None, "description": "The one."},
            INNER | {"description": "The one."},
            id="what the field says of itself wins",
        ),
        pytest.param(
            list[Inner],
            {"json_schema_extra": {"x-kubernetes-list-type": "atomic"}},
            {"type": "array", "x-kubernetes-list-type": "atomic", "items": INNER | {"description": "One of several."}},
            id="list types are kept",
        ),
    ],
)
def test_converted(annotation: Any, options: dict[str, Any], expected: dict[str, Any]) -> None:
    assert field(annotation, **options) == expected


@pytest.mark.parametrize(
    ("annotation", "options", "complaint"),
    [
        pytest.param(int | str, {}, "Outer.x: a field has one type, or may be absent", id="two types"),
        pytest.param(Any, {}, "Outer.x: a type is needed", id="any type"),
        pytest.param(list[Any], {}, r"Outer.x\[\]: a type is needed", id="a list of anything"),
        pytest.param(int, {"gt": 0}, "Outer.x: no way to say exclusiveMinimum", id="a bound that has another form"),
        pytest.param(tuple[int, str], {}, "Outer.x: no way to say prefixItems", id="a tuple"),
    ],
)
def test_what_cannot_be_said_is_refused(annotation: Any, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(NotStructural, match=complaint):
        field(annotation, **options)


def test_fields_beside_free_keys_are_refused() -> None:
    class Open(BaseModel, extra="allow"):
        x: int

    with pytest.raises(NotStructural, match="cannot stand side by side"):
        structural_schema(Open)
