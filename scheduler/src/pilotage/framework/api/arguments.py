"""The arguments of a plugin: a frozen model, declared as the plugin's fields or as a nested class."""

from inspect import get_annotations
from types import new_class
from typing import Any, ClassVar, get_origin

from pydantic.fields import ModelPrivateAttr

from pilotage.config.types import Section

HANDS_OVER = "args"  # the attribute that has them all


class Arguments(Section):
    """The arguments of a plugin: camelCase outside, snake_case inside, no unknown fields."""


def arguments_of(plugin: type, inherited: list[type[Arguments]]) -> tuple[type[Arguments], frozenset[str]]:
    """Return the model of a plugin's arguments, and the names of those that are fields of the class itself.

    They are a nested `class Args(Arguments)`, or the annotated fields of the class.
    """
    _refuse_what_is_gone(plugin)
    notes = {name: note for name, note in get_annotations(plugin).items() if _is_field(name, note)}
    own = vars(plugin).get("Args")
    if own is not None:
        if notes:
            raise TypeError(f"{plugin.__name__} has arguments in Args and as fields; all must be in one place")
        return own, frozenset()
    bases = _most_derived(inherited)
    if not notes and len(bases) == 1 and not vars(plugin).keys() & bases[0].model_fields.keys():
        return bases[0], frozenset()
    return _model(plugin, notes, bases), frozenset(notes)


def _refuse_what_is_gone(plugin: type) -> None:
    """Raise TypeError with the replacement for parts of plugins that used to be pydantic models."""
    if "model_post_init" in vars(plugin):
        raise TypeError(f"{plugin.__name__}.model_post_init is not called; write __post_init__(self)")
    for name, value in vars(plugin).items():
        if isinstance(value, ModelPrivateAttr):
            raise TypeError(f"{plugin.__name__}.{name} is a PrivateAttr; set self.{name} in __post_init__(self)")


def _is_field(name: str, note: Any) -> bool:
    if name.startswith("_") or name == HANDS_OVER:
        return False
    if isinstance(note, str):
        return not note.replace("typing.", "").startswith("ClassVar")
    return note is not ClassVar and get_origin(note) is not ClassVar


def _most_derived(models: list[type[Arguments]]) -> list[type[Arguments]]:
    """Return the models that are not a base of another one, each once."""
    distinct = list(dict.fromkeys(models))
    return [each for each in distinct if not any(each in other.__mro__[1:] for other in distinct)] or [Arguments]


def _model(plugin: type, notes: dict[str, Any], bases: list[type[Arguments]]) -> type[Arguments]:
    members, fields = vars(plugin), {name for base in bases for name in base.model_fields}
    # Pydantic's validators may be beside the fields.
    kept = fields.union(notes, (name for name, value in members.items() if hasattr(value, "decorator_info")))
    namespace = {name: members[name] for name in members if name in kept}
    namespace |= {
        "__module__": plugin.__module__,
        "__qualname__": f"{plugin.__qualname__}.Args",
        "__doc__": plugin.__doc__,
        "__annotations__": notes,
    }
    model: type[Arguments] = new_class(plugin.__name__, tuple(bases), exec_body=lambda found: found.update(namespace))
    return model
