"""The page about `pilotage.plugin`: every exported name, with what its source says about it."""

from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any, Protocol

import pytest

from generate.declared_class import fields_of, methods_of
from generate.plugin_reference import kind_of, text


class Colour(Enum):
    """What a node is painted in."""

    RED = "as a tomato"


RED = Colour.RED
Answer = Colour | None


class Hidden:
    """A base that nobody exports."""

    inherited: int = 3

    def told(self) -> str:
        """Return what it knows."""
        return ""


class Painter(Hidden):
    """Paints nodes.

    With a second paragraph, which the table leaves out.
    """

    # How many coats,
    # at the least.
    coats: int = 2
    colours: tuple[Colour, ...] = (Colour.RED,)  # from the first to the last
    _private: int = 0

    def paint(self, node: str, *, twice: bool = False) -> Answer:
        """Return the colour of a node, or None | nothing."""
        return None

    async def dry(self) -> None:
        """Wait for it."""

    @property
    def is_dry(self) -> bool:
        """Whether it is dry."""
        return True

    @classmethod
    def usual(cls) -> "Painter":
        """Return the one that everybody takes."""
        return cls()

    def _mix(self) -> None:
        """Nobody's business."""


@dataclass(frozen=True)
class Bucket:
    """A dataclass."""

    litres: float


class Brush(Protocol):
    """A protocol."""

    width: int


class Spilled(Exception):
    """An exception."""


def mix(one: Colour, other: Colour = RED) -> Colour:
    """Return both in one."""
    return one


THRESHOLD = 42


def module(**names: object) -> ModuleType:
    made = ModuleType("pilotage.plugin", "All that an author needs.")
    made.__dict__.update(names, __all__=list(names))
    return made


EVERYTHING: dict[str, Any] = {
    "Painter": Painter, "Colour": Colour, "RED": RED, "Answer": Answer, "Bucket": Bucket, "Brush": Brush,
    "Spilled": Spilled, "mix": mix, "THRESHOLD": THRESHOLD,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Painter", "class"), ("Colour", "enum"), ("RED", "constant"), ("Answer", "type"), ("Bucket", "dataclass"),
        ("Brush", "protocol"), ("Spilled", "exception"), ("mix", "function"), ("THRESHOLD", "constant"),
    ],
)  # fmt: skip
def test_each_name_has_its_kind(name: str, kind: str) -> None:
    assert kind_of(EVERYTHING[name]) == kind


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("All that an author needs.", id="what the module says of itself"),
        pytest.param("| [`Painter`](#painter) | class | Paints nodes. |", id="a row with the first paragraph alone"),
        pytest.param("| [`RED`](#red) | constant | `Colour.RED` |", id="a constant by its value"),
        pytest.param("class Painter(Hidden)", id="a class with its bases"),
        pytest.param("With a second paragraph, which the table leaves out.", id="the whole docstring in the section"),
        pytest.param(
            "| `coats` | `int` | `2` | How many coats, at the least. |", id="a field with the comment above it"
        ),
        pytest.param(
            "| `colours` | `tuple[Colour, ...]` | `(Colour.RED,)` | from the first to the last |",
            id="a field with the comment behind it",
        ),
        pytest.param("| `inherited` | `int` | `3` |  |", id="a field of a base that is not exported"),
        pytest.param("def told(self) -> str", id="a method of a base that is not exported"),
        pytest.param("def paint(self, node: str, *, twice: bool=False) -> Answer", id="a method in the author's words"),
        pytest.param("async def dry(self) -> None", id="a coroutine"),
        pytest.param("is_dry -> bool", id="a property without parentheses"),
        pytest.param("@classmethod def usual(cls) -> 'Painter'", id="a class method"),
        pytest.param("- `RED`: as a tomato", id="a member of an enum"),
        pytest.param("| `litres` | `float` |  |  |", id="a field without a default"),
        pytest.param("def mix(one: Colour, other: Colour=RED) -> Colour", id="a function"),
        pytest.param("A constant: `42`", id="a constant that is a number"),
    ],
)
def test_the_page_has(line: str) -> None:
    assert line in text(module(**EVERYTHING)).splitlines()


def test_what_is_private_is_on_no_page() -> None:
    page = text(module(**EVERYTHING))
    assert "_private" not in page
    assert "_mix" not in page


def test_a_base_that_is_exported_is_described_once() -> None:
    page = text(module(Painter=Painter, Hidden=Hidden))
    assert page.count("def told(self) -> str") == 1


def test_names_stand_in_the_order_of_all() -> None:
    page = text(module(mix=mix, Bucket=Bucket))
    assert page.index("## mix") < page.index("## Bucket")


def test_a_bar_in_a_type_breaks_no_table() -> None:
    assert "| `Answer` |" not in text(module(Answer=Answer))
    assert "| [`Answer`](#answer) | type | `Colour \\| None` |" in text(module(Answer=Answer))


def test_only_what_a_class_itself_declares_is_read() -> None:
    assert [field.name for field in fields_of(Painter)] == ["coats", "colours"]
    assert [method.name for method in methods_of(Painter)] == ["paint", "dry", "is_dry", "usual"]
