"""The types that operators take and give."""

from pilotage.model.cel.calls import Signature, signature

ORDERED = [
    *["(bool, bool)", "(int, int)", "(int, double)", "(int, uint)", "(uint, uint)", "(uint, double)", "(uint, int)"],
    *["(double, double)", "(double, int)", "(double, uint)", "(string, string)", "(bytes, bytes)"],
    *["(timestamp, timestamp)", "(duration, duration)"],
]
SUMS = [
    *["(bytes, bytes) -> bytes", "(double, double) -> double", "(duration, duration) -> duration"],
    *["(duration, timestamp) -> timestamp", "(timestamp, duration) -> timestamp", "(int, int) -> int"],
    *["(list(A), list(A)) -> list(A)", "(string, string) -> string", "(uint, uint) -> uint"],
]
DIFFERENCES = [
    *["(double, double) -> double", "(duration, duration) -> duration", "(int, int) -> int"],
    *["(timestamp, duration) -> timestamp", "(timestamp, timestamp) -> duration", "(uint, uint) -> uint"],
]
PRODUCTS = ["(double, double) -> double", "(int, int) -> int", "(uint, uint) -> uint"]
ELEMENTS = [("list(V)", "int", "V"), ("map(K, V)", "K", "V")]
COMPARABLE = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"]


def _signatures(*texts: str) -> tuple[Signature, ...]:
    return tuple(map(signature, texts))


OPERATORS: dict[str, tuple[Signature, ...]] = {
    "_?_:_": _signatures("(bool, A, A) -> A"),
    "_==_": _signatures("(A, A) -> bool"),
    "_!=_": _signatures("(A, A) -> bool"),
    **{name: _signatures(*[f"{pair} -> bool" for pair in ORDERED]) for name in ("_<_", "_<=_", "_>_", "_>=_")},
    "_+_": _signatures(*SUMS),
    "_-_": _signatures(*DIFFERENCES),
    "_*_": _signatures(*PRODUCTS),
    "_/_": _signatures(*PRODUCTS),
    "_%_": _signatures("(int, int) -> int", "(uint, uint) -> uint"),
    "!_": _signatures("(bool) -> bool"),
    "-_": _signatures("(double) -> double", "(int) -> int"),
    "@in": _signatures("(A, list(A)) -> bool", "(A, map(A, B)) -> bool"),
    "_[_]": _signatures(
        *[f"({container}, {key}) -> {value}" for container, key, value in ELEMENTS],
        *[f"(optional_type({container}), {key}) -> optional_type({value})" for container, key, value in ELEMENTS],
    ),
    "_[?_]": _signatures(
        *[f"({container}, {key}) -> optional_type({value})" for container, key, value in ELEMENTS],
        *[f"(optional_type({container}), {key}) -> optional_type({value})" for container, key, value in ELEMENTS],
    ),
    # What methods and macros stand for.
    "or": _signatures("optional_type(V).(optional_type(V)) -> optional_type(V)"),
    "orValue": _signatures("optional_type(V).(V) -> V"),
    "@sortByAssociatedKeys": _signatures(*[f"list(T).(list({each})) -> list(T)" for each in COMPARABLE]),
    "cel.@mapInsert": _signatures("(map(K, V), map(K, V)) -> map(K, V)"),
}
