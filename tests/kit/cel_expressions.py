"""Draws device selectors and devices: mostly right, sometimes wrong, the same for the same seed.

An expression is drawn by the type that is wanted. Attributes have no type before they are read, so they appear wherever
any type may; now and then a part of another type takes the place of the right one.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

DRIVER = "gpu.example.com"
OTHER_DOMAIN = "other.example.com"
ATTRIBUTES = ("model", "count", "sriov", "off", "driverVersion", "pre", "fish", "ratio")
CAPACITIES = ("memory", "cores", "big", "half")
WRONG_TYPE = 0.03  # the chance that a part has another type than its place wants
DEEPEST = 4

Part = str
Rule = Callable[["CelDraw", int], Part]
TYPES = ("bool", "int", "string", "double", "uint", "quantity", "semver", "ints", "strings", "dyn", "map", "optional")


def expressions(seed: int) -> Iterator[str]:
    """Return expressions without end."""
    draw = CelDraw(Random(seed))
    while True:
        yield draw.expression()


def device(random: Random) -> dict[str, Any]:
    """Return a device as it is in a slice: attributes and capacities by the names that expressions use."""
    found: dict[str, Any] = {"name": "d", "attributes": {}, "capacity": {}}
    for name in (*ATTRIBUTES, f"{OTHER_DOMAIN}/family", f"{DRIVER}/own"):
        if random.random() < 0.85:
            found["attributes"][name] = _attribute(random, name)
    for name in (*CAPACITIES, f"{OTHER_DOMAIN}/bw"):
        if random.random() < 0.85:
            found["capacity"][name] = {"value": random.choice(QUANTITIES)}
    if random.random() < 0.5:
        found["allowMultipleAllocations"] = random.random() < 0.5
    return found


def _attribute(random: Random, name: str) -> dict[str, Any]:
    if random.random() < 0.1:
        name = random.choice(ATTRIBUTES)
    if name == "count":
        return {"int": random.choice([0, 1, 8, -3, 2**63 - 1])}
    if name in ("sriov", "off"):
        return {"bool": name == "sriov"}
    if name in ("driverVersion", "pre"):
        return {"version": random.choice(VERSIONS[:6])}
    return {"string": random.choice(WORDS)}


WORDS = ("a100", "h100", "some_example_value", "", "é", "1.2.3", "8", "true", "10Gi", "A-b.C", "10.1.2.3")
VERSIONS = (
    *("1.2.3", "1.2.3-alpha.1", "2.0.0+b1", "1.10.0", "1.2.3-9", "0.0.1"),
    *("v1.2", "1.02.3", "1.2", "", "1.2.3-01", "1.2.3-", "1.2.3+", "1.2.3-é", "99999999999999999999.1.1"),
)
QUANTITIES = (
    *("40Gi", "1500m", "99999999999999999999", "10G", "5", "5.0", ".5", "5.", "0", "0.0", "1e3", "1E", "1Pi", "1Ki"),
    *("1.5Gi", "-3", "+2k", "1n", "0.1n", "9E", "10E", "1024Mi", "9223372036854775807", "1e-3", "0.001Ki", "1M"),
)
WRONG_QUANTITIES = ("", "K", "200K", "1.2.3", "1 Gi", "Pi", "abc", "1e", "--1")
PATTERNS = (
    "a.*",
    "^[a-z]+$",
    "(?i)A1",
    "\\\\d+",
    "[[:alpha:]]",
    "(a|b)*c",
    "x{2,3}",
    "\\\\bexample",
    "",
    "[^a]",
    "_+?",
    "(",
)
NUMBERS = ("0", "1", "2", "-1", "7", "8", "-7", "9223372036854775807", "-9223372036854775808", "0x1F")
DOUBLES = ("0.0", "1.5", "-2.25", "8.0", "1e3", "1e21", "0.1", "1e-7", "1234567.0")
UNSIGNED = ("0u", "1u", "8u", "18446744073709551615u")
ADDRESSES = ("10.1.2.3", "::1", "fe80::1", "1.2.3", "256.1.1.1", "10.0.0.0", "2001:db8::", "x", "224.0.0.1")
NETWORKS = ("10.0.0.0/8", "10.1.2.3/16", "::/0", "2001:db8::/32", "10.0.0.0/33", "10.0.0.0")
FORMATS = ("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue", "uuid", "date", "byte")
MOMENTS = ("2024-01-02T03:04:05Z", "2024-02-29T23:59:59.5+01:00", "1969-12-31T00:00:00Z")
SPANS = ("1h", "90s", "1.5s", "-2m", "1h30m")
ZONES = ("", "", '"+02:00"', '"UTC"')
PARTS_OF_TIME = ("FullYear", "Month", "Date", "DayOfMonth", "DayOfWeek", "DayOfYear", "Hours", "Minutes", "Seconds")


class CelDraw:
    """Draws parts of expressions."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._variables: list[tuple[str, str]] = []  # name and type

    def expression(self) -> str:
        """Return an expression that mostly gives a bool."""
        self._variables.clear()
        if self.random.random() < 0.05:
            return self.part("dyn", self.depth())
        return self.part("bool", self.depth())

    def depth(self) -> int:
        """Return how deep an expression may be."""
        return self.random.randint(1, DEEPEST)

    def pick(self, values: Any) -> Any:
        """Return one of some values."""
        return self.random.choice(values)

    def text(self, value: str) -> str:
        """Return a literal of a text."""
        return f'"{value}"'

    def part(self, kind: str, depth: int) -> str:
        """Return an expression of a type, or of another one by mistake."""
        if self.random.random() < WRONG_TYPE:
            kind = self.pick(TYPES)
        fitting = [name for name, its in self._variables if its == kind]
        if fitting and self.random.random() < 0.4:
            return str(self.pick(fitting))
        if kind != "dyn" and self.random.random() < 0.15:
            return self.dyn(depth - 1)
        rules = RULES[kind]
        return rules[0](self, 0) if depth <= 0 else self.pick(rules)(self, depth - 1)

    def dyn(self, depth: int) -> str:
        """Return something whose type is not known before it is read."""
        if depth > 0 and self.random.random() < 0.2:
            return f"dyn({self.part(self.pick(TYPES[:9]), depth - 1)})"
        return self.attribute()

    def domain(self, group: str) -> str:
        """Return the attributes or capacities of a domain."""
        chosen = self.random.random()
        if chosen < 0.8:
            return f'device.{group}["{DRIVER}"]'
        if chosen < 0.86:
            return f"device.{group}[device.driver]"
        return f'device.{group}["{self.pick((OTHER_DOMAIN, "zz"))}"]'

    def attribute(self) -> str:
        """Return an attribute, written in one of the ways."""
        name = self.pick((*ATTRIBUTES, "family", "nope", "own"))
        domain = self.domain("attributes")
        return f"{domain}.{name}" if self.random.random() < 0.8 else f'{domain}["{name}"]'

    def capacity(self) -> str:
        """Return a capacity."""
        return f"{self.domain('capacity')}.{self.pick((*CAPACITIES, 'bw', 'nope'))}"

    def loop(self, kind: str, variables: tuple[str, ...], of: tuple[str, ...], body: str, depth: int) -> str:
        """Return a body with variables of these types, parenthesised by the caller."""
        self._variables += list(zip(variables, of, strict=True))
        try:
            return self.part(body, depth)
        finally:
            del self._variables[-len(variables) :]

    def bound(self, macro: str, of: tuple[str, ...], bodies: tuple[str, ...], depth: int) -> str:
        """Return .macro(variables, bodies)."""
        names = tuple(self.pick("abcdxyz") for _ in of)
        if len(set(names)) < len(names):
            names = ("i", "v")[: len(names)]
        parts = [self.loop(macro, names, of, body, depth) for body in bodies]
        return f".{macro}({', '.join([*names, *parts])})"


def _sources(draw: CelDraw, depth: int) -> tuple[str, str]:
    """Return something to loop over, and the type of what is in it."""
    kind = draw.pick(("ints", "strings", "strings", "map", "dyn"))
    if kind == "map":
        return draw.domain("attributes"), "string"
    if kind == "dyn":
        return draw.attribute(), "dyn"
    return draw.part(kind, depth), {"ints": "int", "strings": "string"}[kind]


def _looped(macro: str, body: str = "bool") -> Rule:
    def rule(draw: CelDraw, depth: int) -> str:
        source, of = _sources(draw, depth)
        if macro in ("all", "exists", "exists_one") and draw.random.random() < 0.2:
            first, second = ("string", "dyn") if source.startswith("device.") else ("int", of)
            return source + draw.bound(macro, (first, second), (body,), depth)
        return source + draw.bound(macro, (of,), (body,), depth)

    return rule


def _operator(sign: str, *kinds: str) -> Rule:
    def rule(draw: CelDraw, depth: int) -> str:
        kind = draw.pick(kinds)
        return f"({draw.part(kind, depth)} {sign} {draw.part(kind, depth)})"

    return rule


def _call(template: str, *kinds: str) -> Rule:
    """Return a rule that fills a template with parts of these types."""

    def rule(draw: CelDraw, depth: int) -> str:
        return template.format(*[draw.part(kind, depth) for kind in kinds])

    return rule


def _literal(values: Any, template: str = "{}") -> Rule:
    return lambda draw, depth: template.format(draw.pick(values))


def _texts(values: Any, function: str) -> Rule:
    return lambda draw, depth: f'{function}("{draw.pick(values)}")'


def _choice(kind: str) -> Rule:
    return lambda draw, depth: f"({draw.part('bool', depth)} ? {draw.part(kind, depth)} : {draw.part(kind, depth)})"


def _bind(kind: str) -> Rule:
    def rule(draw: CelDraw, depth: int) -> str:
        of = draw.pick(TYPES)
        name = draw.pick("mnp")
        return f"cel.bind({name}, {draw.part(of, depth)}, {draw.loop('bind', (name,), (of,), kind, depth)})"

    return rule


def _bind_domain(draw: CelDraw, depth: int) -> str:
    return f"cel.bind(d, {draw.domain('attributes')}, d.{draw.pick(ATTRIBUTES)} == {draw.part('dyn', depth)})"


def _has(draw: CelDraw, depth: int) -> str:
    return f"has({draw.domain('attributes')}.{draw.pick((*ATTRIBUTES, 'nope'))}{draw.pick(('', '', '.x'))})"


def _or_value(kind: str) -> Rule:
    return lambda draw, depth: f"{draw.part('optional', depth)}.orValue({draw.part(kind, depth)})"


def _optional_attribute(draw: CelDraw, depth: int) -> str:
    domain, name = draw.domain("attributes"), draw.pick((*ATTRIBUTES, "nope"))
    ways = (f"{domain}.?{name}", f'{domain}[?"{name}"]', f'device.attributes[?"{DRIVER}"].?{name}')
    return str(draw.pick(ways))


def _optional_map(draw: CelDraw, depth: int) -> str:
    macro, body = draw.pick((("optMap", "dyn"), ("optFlatMap", "optional")))
    return draw.part("optional", depth) + draw.bound(macro, ("dyn",), (body,), depth)


def _transformed(macro: str) -> Rule:
    def rule(draw: CelDraw, depth: int) -> str:
        source, of = _sources(draw, depth)
        body = "int" if macro == "transformMap" else draw.pick(("int", "string"))
        bodies = ("bool", body) if draw.random.random() < 0.3 else (body,)
        kinds = ("string", "dyn") if source.startswith("device.") else ("int", of)
        return source + draw.bound(macro, kinds, bodies, depth)

    return rule


def _entries(draw: CelDraw, depth: int) -> str:
    return f"{draw.part('strings', depth)}.transformMapEntry(i, v, {{v: {draw.part('int', depth)}}})"


def _formatted(draw: CelDraw, depth: int) -> str:
    letter, kind = draw.pick(
        (
            ("s", "dyn"),
            ("d", "int"),
            ("s", "ints"),
            ("x", "int"),
            (".2f", "double"),
            ("b", "bool"),
            ("o", "uint"),
            ("s", "double"),
        )
    )
    return f'"%{letter}!".format([{draw.part(kind, depth)}])'


def _list(kind: str) -> Rule:
    def rule(draw: CelDraw, depth: int) -> str:
        return f"[{', '.join(draw.part(kind, depth) for _ in range(draw.random.randint(0, 4)))}]"

    return rule


def _plain_list(values: Any) -> Rule:
    return lambda draw, depth: f"[{', '.join(draw.pick(values) for _ in range(draw.random.randint(0, 4)))}]"


QUOTED_WORDS = tuple(f'"{word}"' for word in WORDS)
COMPARED = ("int", "string", "double", "uint", "bool", "dyn", "quantity", "semver", "ints", "strings")
MEMBERS_OF_ADDRESS = ("family() == 4", "isLoopback()", "isGlobalUnicast()", "isLinkLocalUnicast()", "isUnspecified()")

RULES: dict[str, list[Rule]] = {
    "bool": [
        _literal(("true", "false")),
        *[_operator("==", *COMPARED), _operator("!=", *COMPARED)] * 2,
        *[_operator(sign, "int", "string", "double", "uint", "dyn") for sign in ("<", "<=", ">", ">=")],
        *[_operator("&&", "bool"), _operator("||", "bool")] * 2,
        _call("!{}", "bool"),
        _call("({0} in {1})", "int", "ints"),
        _call("({0} in {1})", "string", "strings"),
        _call("({0} in {1})", "dyn", "dyn"),
        lambda draw, depth: f'("{draw.pick(ATTRIBUTES)}" in {draw.domain("attributes")})',
        lambda draw, depth: (
            f'("{draw.pick((DRIVER, OTHER_DOMAIN, "zz"))}" in device.{draw.pick(("attributes", "capacity"))})'
        ),
        *[_has] * 3,
        *[_looped(macro) for macro in ("all", "exists", "exists_one")],
        _choice("bool"),
        _bind("bool"),
        _bind_domain,
        _call("{}.hasValue()", "optional"),
        _or_value("bool"),
        _call("{}.startsWith({})", "string", "string"),
        _call("{}.endsWith({})", "string", "string"),
        _call("{}.contains({})", "string", "string"),
        lambda draw, depth: f'{draw.part("string", depth)}.matches("{draw.pick(PATTERNS)}")',
        _call("{}.matches({})", "string", "string"),
        _call("{}.isGreaterThan({})", "quantity", "quantity"),
        _call("{}.isLessThan({})", "quantity", "quantity"),
        _call("{}.isInteger()", "quantity"),
        _call("{}.isGreaterThan({})", "semver", "semver"),
        _call("{}.isLessThan({})", "semver", "semver"),
        _call("isQuantity({})", "string"),
        _call("isSemver({})", "string"),
        _call("isSemver({}, {})", "string", "bool"),
        _call("{}.isSorted()", "ints"),
        _call("sets.contains({}, {})", "ints", "ints"),
        _call("sets.intersects({}, {})", "strings", "strings"),
        _call("sets.equivalent({}, {})", "ints", "ints"),
        _call("{}.includes({})", "dyn", "string"),
        _call("{}.includes({})", "ints", "int"),
        lambda draw, depth: f'ip("{draw.pick(ADDRESSES)}").{draw.pick(MEMBERS_OF_ADDRESS)}',
        lambda draw, depth: f'cidr("{draw.pick(NETWORKS)}").containsIP("{draw.pick(ADDRESSES)}")',
        lambda draw, depth: f'cidr("{draw.pick(NETWORKS)}").containsCIDR("{draw.pick(NETWORKS)}")',
        lambda draw, depth: f'isCIDR("{draw.pick(NETWORKS)}") == isIP({draw.part("string", depth)})',
        lambda draw, depth: f"format.{draw.pick(FORMATS)}().validate({draw.part('string', depth)}).hasValue()",
        lambda draw, depth: f"type({draw.part('dyn', depth)}) == {draw.pick(('int', 'string', 'bool', 'list'))}",
        _literal(("device.allowMultipleAllocations",)),
        _call("bool({})", "string"),
        lambda draw, depth: (
            f'timestamp("{draw.pick(MOMENTS)}") {draw.pick(("<", "=="))} timestamp({draw.part("int", depth)})'
        ),
        lambda draw, depth: (
            f'duration("{draw.pick(SPANS)}") + duration("{draw.pick(SPANS)}") > duration("{draw.pick(SPANS)}")'
        ),
    ],
    "int": [
        _literal(NUMBERS),
        *[_operator(sign, "int") for sign in "+-*/%"],
        _call("-({})", "int"),
        _call("size({})", "string"),
        _call("{}.size()", "strings"),
        _call("size({})", "map"),
        _call("int({})", "string"),
        _call("int({})", "double"),
        _call("int({})", "dyn"),
        _call("{}.indexOf({})", "string", "string"),
        _call("{}.lastIndexOf({}, {})", "string", "string", "int"),
        _call("{}.compareTo({})", "quantity", "quantity"),
        _call("{}.asInteger()", "quantity"),
        _call("sign({})", "quantity"),
        _call("{}.compareTo({})", "semver", "semver"),
        lambda draw, depth: f"{draw.part('semver', depth)}.{draw.pick(('major', 'minor', 'patch'))}()",
        lambda draw, depth: f"{draw.part('ints', depth)}.{draw.pick(('sum', 'min', 'max'))}()",
        _call("{}.indexOf({})", "ints", "int"),
        _call("{}[{}]", "ints", "int"),
        _choice("int"),
        _or_value("int"),
        lambda draw, depth: f'timestamp("{draw.pick(MOMENTS)}").get{draw.pick(PARTS_OF_TIME)}({draw.pick(ZONES)})',
        lambda draw, depth: f'duration("{draw.pick(SPANS)}").get{draw.pick(PARTS_OF_TIME[-3:])}()',
        lambda draw, depth: f'cidr("{draw.pick(NETWORKS)}").prefixLength()',
        _bind("int"),
    ],
    "string": [
        _literal(QUOTED_WORDS),
        _operator("+", "string"),
        _literal(("device.driver",)),
        _call("string({})", "dyn"),
        _call("string({})", "double"),
        _call("string({})", "int"),
        _call("{}.charAt({})", "string", "int"),
        _call("{}.substring({})", "string", "int"),
        _call("{}.substring({}, {})", "string", "int", "int"),
        _call("{}.replace({}, {})", "string", "string", "string"),
        _call("{}.replace({}, {}, {})", "string", "string", "string", "int"),
        *[_call(f"{{}}.{name}()", "string") for name in ("lowerAscii", "upperAscii", "trim")],
        _call("{}.join({})", "strings", "string"),
        _call("strings.quote({})", "string"),
        lambda draw, depth: f'{draw.part("string", depth)}.find("{draw.pick(PATTERNS)}")',
        lambda draw, depth: f"{draw.part('strings', depth)}.{draw.pick(('min', 'max'))}()",
        _call("{}[{}]", "strings", "int"),
        _formatted,
        _choice("string"),
        _or_value("string"),
        lambda draw, depth: f'string(ip("{draw.pick(ADDRESSES)}"))',
        _bind("string"),
    ],
    "double": [
        _literal(DOUBLES),
        *[_operator(sign, "double") for sign in "+-*/"],
        _call("double({})", "string"),
        _call("double({})", "int"),
        _call("{}.asApproximateFloat()", "quantity"),
        _choice("double"),
    ],
    "uint": [
        _literal(UNSIGNED),
        *[_operator(sign, "uint") for sign in "+-*/%"],
        _call("uint({})", "int"),
        _call("uint({})", "string"),
        _call("uint({})", "double"),
    ],
    "quantity": [
        _texts((*QUANTITIES, *WRONG_QUANTITIES[:3]), "quantity"),
        *[lambda draw, depth: draw.capacity()] * 4,
        _call("{}.add({})", "quantity", "quantity"),
        _call("{}.sub({})", "quantity", "quantity"),
        _call("{}.add({})", "quantity", "int"),
        lambda draw, depth: f"{draw.part('quantity', depth)}.sub({draw.pick(NUMBERS[:7])})",
        _texts((*QUANTITIES, *WRONG_QUANTITIES), "quantity"),
        _call("quantity({})", "string"),
        _choice("quantity"),
    ],
    "semver": [
        _texts(VERSIONS[:6], "semver"),
        lambda draw, depth: f"{draw.domain('attributes')}.{draw.pick(('driverVersion', 'pre'))}",
        _texts(VERSIONS, "semver"),
        lambda draw, depth: f'semver("{draw.pick(VERSIONS)}", true)',
        _call("semver({})", "string"),
    ],
    "ints": [
        _plain_list(NUMBERS),
        _list("int"),
        _operator("+", "ints"),
        _call("{}.filter(x, x > {})", "ints", "int"),
        lambda draw, depth: draw.part("ints", depth) + draw.bound("map", ("int",), ("int",), depth),
        lambda draw, depth: draw.part("strings", depth) + draw.bound("map", ("string",), ("int",), depth),
        lambda draw, depth: draw.part("ints", depth) + draw.bound("map", ("int",), ("bool", "int"), depth),
        lambda draw, depth: draw.part("ints", depth) + draw.bound("sortBy", ("int",), ("int",), depth),
        *[_call(f"{{}}.{name}()", "ints") for name in ("sort", "distinct", "reverse")],
        _call("{}.slice({}, {})", "ints", "int", "int"),
        _call("lists.range({})", "int"),
        _call("[{}].flatten()", "ints"),
        _choice("ints"),
    ],
    "strings": [
        _plain_list(QUOTED_WORDS),
        _list("string"),
        _operator("+", "strings"),
        _call("{}.split({})", "string", "string"),
        _call("{}.split({}, {})", "string", "string", "int"),
        lambda draw, depth: f'{draw.part("string", depth)}.findAll("{draw.pick(PATTERNS)}")',
        lambda draw, depth: draw.part("strings", depth) + draw.bound("map", ("string",), ("string",), depth),
        lambda draw, depth: draw.part("strings", depth) + draw.bound("filter", ("string",), ("bool",), depth),
        *[_call(f"{{}}.{name}()", "strings") for name in ("sort", "distinct", "reverse")],
        # Only what is surely optional: cel-go panics at [?x, y] and {?k: x} if the type of x is not known.
        lambda draw, depth: f"[?{_optional_attribute(draw, depth)}, {draw.attribute()}].map(x, string(x))",
        _transformed("transformList"),
    ],
    "dyn": [
        *[lambda draw, depth: draw.attribute()] * 4,
        _call("dyn({})", "int"),
        _call("dyn({})", "string"),
        _call("dyn({})", "double"),
        _call("{}[{}]", "dyn", "dyn"),
        _call("{}.x", "dyn"),
        _call("{}.value()", "optional"),
        _or_value("dyn"),
        _choice("dyn"),
        lambda draw, depth: f"{draw.domain('attributes')}[{draw.part('string', depth)}]",
        _literal(("null", 'b"ab"', "[]", "{}", "device.attributes")),
        *[_operator(sign, "dyn") for sign in "+-*/%"],
    ],
    "map": [
        lambda draw, depth: draw.domain("attributes"),
        _call("{{{}: {}}}", "string", "int"),
        _call('{{"a": {}, "b": {}}}', "int", "int"),
        _literal(("device.attributes", "device.capacity")),
        _transformed("transformMap"),
        _entries,
        lambda draw, depth: f"{{?{draw.part('string', depth)}: {_optional_attribute(draw, depth)}}}",
    ],
    "optional": [
        _optional_attribute,
        _call("optional.of({})", "dyn"),
        _call("optional.of({})", "int"),
        _literal(("optional.none()",)),
        _call("optional.ofNonZeroValue({})", "string"),
        _call("optional.ofNonZeroValue({})", "dyn"),
        _optional_map,
        _call("{}.or({})", "optional", "optional"),
        lambda draw, depth: f"{draw.part('ints', depth)}.{draw.pick(('first', 'last'))}()",
        _call("{}[?{}]", "ints", "int"),
        _call("{}.?x", "map"),
        _call("{}.?x", "optional"),
    ],
}
