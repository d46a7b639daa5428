"""Which type can stand for which: substitutions of type variables, as cel-go's checker finds them."""

from pilotage.model.cel.types import DYN, Type

VARIABLE = "_var"  # the start of a type variable's name
ERROR = Type("!error!")
OPEN = frozenset({"dyn", "!error!"})
CONTAINERS = frozenset({"list", "map", "optional_type"})
PLAIN = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "type"})

Mapping = dict[str, Type]


def is_variable(kind: Type) -> bool:
    """Return whether a type is a variable."""
    return kind.name.startswith(VARIABLE)


def is_open(kind: Type) -> bool:
    """Return whether a type says nothing."""
    return kind.name in OPEN


def substituted(mapping: Mapping, kind: Type, is_final: bool = False) -> Type:
    """Return a type with its variables replaced; what is still unknown at the end is dyn."""
    if is_variable(kind):
        found = mapping.get(kind.name)
        if found is not None:
            return substituted(mapping, found, is_final)
        return DYN if is_final else kind
    if not kind.parameters:
        return kind
    return Type(kind.name, tuple(substituted(mapping, each, is_final) for each in kind.parameters))


def assignable(mapping: Mapping, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> Mapping | None:
    """Return the substitutions with which each type can stand for the one that is wanted, None if there are none."""
    if len(given) != len(wanted):
        return None
    copy = dict(mapping)
    return copy if all(_fits(copy, one, other) for one, other in zip(given, wanted, strict=True)) else None


def _fits(mapping: Mapping, one: Type, other: Type) -> bool:
    if is_variable(other):
        is_valid, was_known = _bound(mapping, one, other)
        if is_valid or was_known:
            return is_valid
    if is_variable(one):
        return _bound(mapping, other, one)[0]
    if is_open(one) or is_open(other):
        return True
    if one.name == "null" or other.name == "null":
        rest = other if one.name == "null" else one
        return rest.name not in PLAIN
    if one.name == "type":
        return other.name == "type"
    if one.name in CONTAINERS:
        return (
            one.name == other.name
            and len(one.parameters) == len(other.parameters)
            and all(_fits(mapping, a, b) for a, b in zip(one.parameters, other.parameters, strict=True))
        )
    return one.name == other.name


def _bound(mapping: Mapping, kind: Type, variable: Type) -> tuple[bool, bool]:
    """Bind a variable to a type; return whether that works, and whether the variable was bound before."""
    if kind == variable:
        return True, True
    before = mapping.get(variable.name)
    if before is not None:
        if kind == before:
            return True, True
        if not _fits(mapping, kind, before):
            return False, True
        general = most_general(kind, before)
        if _is_free_of(mapping, variable, general):
            mapping[variable.name] = general
        return True, True
    if _is_free_of(mapping, variable, kind):
        mapping[variable.name] = kind
        return True, False
    return False, False


def _is_free_of(mapping: Mapping, variable: Type, within: Type) -> bool:
    if within == variable:
        return False
    if is_variable(within):
        found = mapping.get(within.name)
        return found is None or _is_free_of(mapping, variable, found)
    return all(_is_free_of(mapping, variable, each) for each in within.parameters)


def most_general(one: Type, other: Type) -> Type:
    """Return the type that says less."""
    return one if _is_less_specific(one, other) else other


def _is_less_specific(one: Type, other: Type) -> bool:
    if one == DYN or is_variable(one):
        return True
    if other == DYN or is_variable(other) or one.name != other.name:
        return False
    if one.name == "type":
        return True
    return len(one.parameters) == len(other.parameters) and all(
        _is_less_specific(a, b) for a, b in zip(one.parameters, other.parameters, strict=True)
    )
