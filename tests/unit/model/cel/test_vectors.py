"""Expressions and the answers of kube-scheduler's own package: each was put to cel-go as the scheduler uses it."""

import pytest

from kit.cel_scene import answer

# A bool, the words of a run-time error, or those of compile errors with their places. In an expression D and C are the
# attributes and the capacity of the driver's domain.


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(
            'device.driver == "gpu.example.com" && D.model == "a100" && C.memory.compareTo(quantity("40Gi")) >= 0',
            True,
            id="the expression that most claims have",
        ),
        pytest.param(
            "D.model",
            (
                "CEL result of type string could not be converted to bool: unsupported native conversion from "
                "string to 'bool'"
            ),
            id="a text is no answer",
        ),
        pytest.param("D.sriov", True, id="a bool attribute is an answer"),
        pytest.param('D["sriov"]', True, id="an attribute in brackets is the same"),
        pytest.param('D.nope == "x"', "no such key: nope", id="a missing attribute is an error"),
        pytest.param('device.attributes["zz"].x == "y"', "no such key: x", id="an unknown domain is an empty map"),
        pytest.param('"zz" in device.attributes', False, id="an unknown domain is not in the map"),
        pytest.param('"other.example.com" in device.attributes', True, id="a known domain is in the map"),
        pytest.param('"model" in D', True, id="an id is in its domain"),
        pytest.param('has(device.attributes["zz"].x)', False, id="nothing is in an unknown domain"),
        pytest.param("has(device.attributes.foo)", True, id="every domain seems to be there for has"),
        pytest.param('device.attributes["zz"] == {}', True, id="an unknown domain equals an empty map"),
        pytest.param("size(device.attributes) == 2", True, id="size counts real domains only"),
        pytest.param(
            'device.attributes[device.driver].model == "a100"', True, id="the driver's own domain by its variable"
        ),
        pytest.param("device.allowMultipleAllocations", False, id="sharing is off when unset"),
        pytest.param("device == device", True, id="the device equals itself"),
        pytest.param(
            'device.pool == "a"', "1:7: undefined field 'pool'", id="fields of a device have names that are known"
        ),
        pytest.param(
            'device["driver"] == "x"',
            "1:7: found no matching overload for '_[_]' applied to '(kubernetes.DRADevice, string)'",
            id="the device is no map to index",
        ),
        pytest.param('D.`in` == "kw"', True, id="a field named by a keyword, in backticks"),
        pytest.param(
            "D.true", "1:38: Syntax error: mismatched input 'true' expecting IDENTIFIER", id="true is no field name"
        ),
    ],
)
def test_device_variable(expression: str, expected: bool | str) -> None:
    """What `device` gives to read."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('D.?nope.orValue("z") == "z"', True, id="a missing id has a default"),
        pytest.param('D.?model.orValue("z") == "a100"', True, id="a present id has no use for it"),
        pytest.param('device.attributes[?"zz"].?x.orValue("z") == "z"', True, id="an optional domain chains"),
        pytest.param('D.?nope.value() == "x"', "optional.none() dereference", id="none has no value"),
        pytest.param('D.?nope.or(D.?model).value() == "a100"', True, id="the first that is there"),
        pytest.param('D.?model.optMap(x, x + "z").orValue("") == "a100z"', True, id="a value that is there is changed"),
        pytest.param('D.?nope.optMap(x, x + "z").hasValue()', False, id="a value that is absent stays absent"),
        pytest.param("D.?model.optFlatMap(x, D.?nope).hasValue()", False, id="a change may give nothing"),
        pytest.param("[?D.?nope].size() == 0", True, id="optional elements of a list may be left out"),
        pytest.param('{?"a": D.?nope}.size() == 0', True, id="an optional entry may be left out"),
        pytest.param('optional.ofNonZeroValue("").hasValue()', False, id="a zero value is none"),
        pytest.param(
            "optional.unwrap([optional.of(1), optional.none()]) == [1]", True, id="a list without what is absent"
        ),
        pytest.param(
            "D.model.hasValue()", "no such overload: hasValue(string)", id="only optional values have hasValue"
        ),
        pytest.param("D.model.orValue(1) == 1", "no such overload", id="only optional values have orValue"),
        pytest.param('optional.of({"a": 1}).a == optional.of(1)', True, id="fields of an optional map are optional"),
        pytest.param("optional.none() == optional.none()", True, id="none == none"),
    ],
)
def test_optional_values(expression: str, expected: bool | str) -> None:
    """Values that may be absent."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("D.nope && D.off", False, id="an error on the left, what decides on the right"),
        pytest.param('D.off || D.nope == "x"', "no such key: nope", id="what decides is on neither side"),
        pytest.param("D.nope1 && D.nope2", "no such key: nope1", id="both sides fail"),
        pytest.param("D.model || true", True, id="a text on the left, what decides on the right"),
        pytest.param("true && D.model", "no such overload", id="a text on the right"),
        pytest.param("D.model ? true : false", "no such overload", id="a text where a condition must be"),
        pytest.param("!D.model", "no such overload", id="a text cannot be negated"),
        pytest.param("D.a && D.b && D.sriov && D.c", "no such key: a", id="the error of a long chain is the first one"),
        pytest.param("D.a || D.b || D.sriov", True, id="something after several errors decides"),
    ],
)
def test_logic(expression: str, expected: bool | str) -> None:
    """&& and || take what decides, in any order."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("D.count == 8.0", True, id="a whole number equals the same with a point"),
        pytest.param("D.count == 8u", True, id="a whole number equals the same without sign"),
        pytest.param("D.count > 3.5", True, id="numbers of different types have an order"),
        pytest.param('D.count > "3"', "no such overload", id="a number and a text have none"),
        pytest.param("D.model == 3", False, id="a text is not a number"),
        pytest.param('D.driverVersion == "1.2.3"', "no such overload", id="a version on the left of a text"),
        pytest.param('"1.2.3" == D.driverVersion', False, id="a version on the right of a text"),
        pytest.param('D.driverVersion != "1.2.3"', True, id="unequal never fails"),
        pytest.param("D.driverVersion == null", False, id="a version is not null"),
        pytest.param("[D.driverVersion] == [D.model]", True, id="in a list what cannot be compared counts as equal"),
        pytest.param("[1, 2] == [1]", False, id="lists of different lengths"),
        pytest.param('{"a": 1} == {"a": 1}', True, id="maps compare by their entries"),
        pytest.param('dyn({"a": 1}) == {"b": 1}', False, id="a map with another key"),
        pytest.param(
            "C.memory > 3",
            "1:43: found no matching overload for '_>_' applied to '(kubernetes.Quantity, int)'",
            id="a quantity against a number, statically",
        ),
        pytest.param(
            "device.driver == 1",
            "1:15: found no matching overload for '_==_' applied to '(string, int)'",
            id="a text against a number, statically",
        ),
        pytest.param(
            "1 == 1.0",
            "1:3: found no matching overload for '_==_' applied to '(int, double)'",
            id="numbers of different types, statically",
        ),
        pytest.param("dyn(0.0 / 0.0) < 1.0", "NaN values cannot be ordered", id="NaN has no order"),
        pytest.param("dyn(0.0 / 0.0) == dyn(0.0 / 0.0)", False, id="NaN is not itself"),
        pytest.param("9007199254740993 == dyn(9007199254740992.0)", True, id="floats lose digits in a comparison"),
        pytest.param('b"a" < b"b"', True, id="bytes have an order"),
        pytest.param("dyn([1]) < dyn([2])", "no such overload: _<_", id="lists have none"),
        pytest.param("D.count in [1, 8]", True, id="an id in a list"),
        pytest.param('"x" in D.model', "no such overload", id="a text is no container"),
        pytest.param('1 in dyn({"a": 1})', False, id="a key of another type is not in a map"),
        pytest.param('dyn({1: "a"})[1u] == "a"', True, id="a number is the same key in all its types"),
        pytest.param('dyn(true) in {1: "a"}', False, id="true is not the key 1"),
        pytest.param("D.nope in []", False, id="nothing is in an empty list, whatever it is"),
    ],
)
def test_comparison(expression: str, expected: bool | str) -> None:
    """Equality and order across types."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("9223372036854775807 + D.count > 0", "integer overflow", id="beyond 64 bits"),
        pytest.param("D.count / 0 == 1", "division by zero", id="division by zero"),
        pytest.param("D.count % 0 == 1", "modulus by zero", id="modulus by zero"),
        pytest.param("-7 / 2 == -3 && -7 % 2 == -1", True, id="division cuts towards zero"),
        pytest.param(
            "-(-9223372036854775807 - 1) == 1", "integer overflow", id="the smallest number cannot be negated"
        ),
        pytest.param("5u - 6u == 1u", "unsigned integer overflow", id="unsigned numbers do not go below zero"),
        pytest.param("D.count + D.model == 1", "no such overload", id="a number and a text have no sum"),
        pytest.param("D.sriov + D.sriov == 1", "no such overload: _+_", id="a bool has no sum"),
        pytest.param("D.driverVersion - 1 == 1", "no such overload: _-_", id="a version has no difference"),
        pytest.param("1.0 / 0.0 > 1.0", True, id="floats divide by zero"),
        pytest.param('D.model + "x" == "a100x"', True, id="texts join"),
        pytest.param("[1] + [2] == [1, 2]", True, id="lists join"),
        pytest.param("-D.model == 1", "no such overload", id="a text cannot be negated"),
    ],
)
def test_arithmetic(expression: str, expected: bool | str) -> None:
    """64 bits and what goes wrong with them."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('D.model[0] == "a"', "no such key: 0", id="an element of a text"),
        pytest.param("D.model.nope", "no such key: nope", id="a field of a text"),
        pytest.param("has(D.model.nope)", False, id="has of a field of a text"),
        pytest.param("has(D.nope.x)", "no such key: nope", id="has of a field of what is missing"),
        pytest.param("[1, 2][5] == 1", "index out of bounds: 5", id="beyond the end of a list"),
        pytest.param("[1][D.model] == 1", "unsupported index type 'string' in list", id="a text as place in a list"),
        pytest.param("[1, 2][dyn(1.0)] == 2", True, id="a float as place in a list"),
        pytest.param(
            "D[[1]] == 1",
            "1:37: found no matching overload for '_[_]' applied to '(map(string, dyn), list(int))'",
            id="a list as key",
        ),
        pytest.param('has(D["model"])', "1:41: invalid argument to has() macro", id="has takes a field only"),
    ],
)
def test_access(expression: str, expected: bool | str) -> None:
    """Fields and elements of what has none."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('device.attributes["gpu.example.com"].exists(k, D[k] == "a100")', True, id="one id has the value"),
        pytest.param(
            'device.attributes["gpu.example.com"].all(k, D[k] > 3)',
            "no such overload",
            id="all ids have it, some cannot be compared",
        ),
        pytest.param(
            'device.attributes["gpu.example.com"].exists_one(k, D[k] == 8)',
            "no such overload",
            id="exactly one, an error does not go away",
        ),
        pytest.param('["a", "b"].all(x, D.nope == "")', "no such key: nope", id="all over what always fails"),
        pytest.param(
            'cel.bind(d, device.attributes["gpu.example.com"], d.model == "a100" && d.count > 1)',
            True,
            id="a name for what is used twice",
        ),
        pytest.param("cel.bind(x, D.nope, true)", True, id="a name that is not used cannot fail"),
        pytest.param("cel.bind(x, D.nope, x == 1)", "no such key: nope", id="a name that is used fails then"),
        pytest.param(
            'device.attributes["gpu.example.com"].transformList(k, v, k).size() > 3', True, id="keys and values"
        ),
        pytest.param('["a", "b"].all(i, v, i < 2 && v != "")', True, id="positions and elements"),
        pytest.param("[1, 2].existsOne(i, v, v == 2)", True, id="exactly one of two variables"),
        pytest.param(
            "[1, 2].existsOne(v, v == 2)",
            (
                "1:17: undeclared reference to 'existsOne' (in container '')\n1:18: undeclared reference to 'v' "
                "(in container '')\n1:21: undeclared reference to 'v' (in container '')"
            ),
            id="existsOne has two variables",
        ),
        pytest.param("[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]", True, id="map with a condition"),
        pytest.param("[1, 2, 3].filter(x, x > 1) == [2, 3]", True, id="filter"),
        pytest.param(
            '["a", "b"].filter(x, D[x] == 1).size() == 1', "no such key: b", id="the last condition that failed is told"
        ),
        pytest.param('["a", "b"].map(x, D[x]).size() == 1', "no such key: a", id="the first body that failed is told"),
        pytest.param('{"a": 1}.transformMap(k, v, v + 1) == {"a": 2}', True, id="a map from a map"),
        pytest.param('["a"].transformMapEntry(i, v, {v: i}) == {"a": 0}', True, id="entries for each element"),
        pytest.param(
            '["a", "a"].transformMapEntry(i, v, {v: i}).size() == 1',
            "insert failed: key a already exists",
            id="an entry twice",
        ),
        pytest.param('["bb", "a"].sortBy(x, x.size()) == ["a", "bb"]', True, id="sorted by something"),
        pytest.param("[1].all(x, [2].all(x, x == 2))", True, id="an inner variable hides an outer one"),
        pytest.param(
            "D.count.all(x, true)", "got 'types.Int', expected iterable type", id="a number cannot be stepped through"
        ),
        pytest.param(
            (
                "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, "
                "[0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, "
                "[0,1,2,3,4,5,6,7,8,9].all(g, g >= 0)))))))"
            ),
            "operation cancelled: actual cost limit exceeded",
            id="too many turns",
        ),
    ],
)
def test_loops(expression: str, expected: bool | str) -> None:
    """Macros over lists and maps."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('"é".size() == 1', True, id="the size counts characters"),
        pytest.param('D.model.substring(9) == ""', "index out of range: 9", id="beyond the end"),
        pytest.param(
            'D.model.substring(3, 1) == ""',
            "invalid substring range. start: 3, end: 1",
            id="a range that goes backwards",
        ),
        pytest.param('D.model.charAt(4) == ""', True, id="the end is a place"),
        pytest.param('D.fish.split("example").size() == 2', True, id="parts"),
        pytest.param('"abc".split("") == ["a", "b", "c"]', True, id="parts of nothing"),
        pytest.param('"a,b,c".split(",", 2) == ["a", "b,c"]', True, id="at most so many parts"),
        pytest.param('"a,b".split(",", 0) == []', True, id="no parts"),
        pytest.param('["a", "b"].join("-") == "a-b"', True, id="joined"),
        pytest.param('"aaa".replace("a", "b", 2) == "bba"', True, id="replaced so many times"),
        pytest.param('"banana".indexOf("a", 2) == 3', True, id="found from a place on"),
        pytest.param('"banana".lastIndexOf("a", 4) == 3', True, id="found from the end"),
        pytest.param('"É-a".upperAscii() == "É-A"', True, id="only ASCII changes its case"),
        pytest.param('" \\t a\\u2003".trim() == "a"', True, id="all white space goes"),
        pytest.param('strings.quote("a\\"b") == "\\"a\\\\\\"b\\""', True, id="in quotes"),
        pytest.param('D.count.startsWith("a")', "no such overload", id="a number does not start with a text"),
        pytest.param('D.count.charAt(1) == "a"', "no such overload: charAt(int, int)", id="a number has no characters"),
        pytest.param("D.count.size() == 1", "no such overload: size", id="a number has no size"),
        pytest.param('"%s-%d".format([D.model, D.count]) == "a100-8"', True, id="filled in"),
        pytest.param('"%.2f".format([1234.567]) == "1,234.57"', True, id="rounded and grouped"),
        pytest.param(
            '"%s".format([[1, "a", {"b": 1.5}]]) == "[1, \\"a\\", {\\"b\\":1.500000}]"',
            True,
            id="nested values in a text",
        ),
        pytest.param('"%s %s".format([1]) == "1"', "1:15: index 1 out of range", id="too few values for a format"),
        pytest.param(
            '"%s".format([1, 2]) == "1"',
            "1:12: too many arguments supplied to string.format (expected 1, got 2)",
            id="too many values for a format",
        ),
        pytest.param(
            '"%d".format([D.model]) == "1"',
            "error during formatting: decimal clause can only be used on integers, was given string",
            id="the wrong value for a format",
        ),
        pytest.param(
            '"%s".format([D.driverVersion]) == "1"',
            (
                "error during formatting: string clause can only be used on strings, bools, bytes, ints, "
                "doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Semver"
            ),
            id="a version has no text",
        ),
    ],
)
def test_texts(expression: str, expected: bool | str) -> None:
    """Functions of texts."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('D.fish.matches("example")', True, id="a part is enough"),
        pytest.param('D.model.matches("(?i)A100")', True, id="capital letters, if told so"),
        pytest.param('"foo\\nbar".matches("^bar$")', False, id="anchors are of the text"),
        pytest.param('"foo\\nbar".matches("(?m)^bar$")', True, id="anchors of lines, if told so"),
        pytest.param('"foo\\n".matches("foo$")', False, id="the end is the end"),
        pytest.param('"é".matches("^\\\\w$")', False, id="classes are ASCII"),
        pytest.param('"é".matches("^.$")', True, id="a character is a code point"),
        pytest.param('D.model.matches("[")', "1:52: invalid matches argument", id="a wrong pattern that is written"),
        pytest.param(
            'D.model.matches(D.fish + "[")',
            "error parsing regexp: missing closing ]: `[`",
            id="a wrong pattern that is computed",
        ),
        pytest.param('D.model.matches("(?=a)")', "1:52: invalid matches argument", id="looking ahead is not in RE2"),
        pytest.param('"abcabc".find("(?:ab|abc)+") == "ab"', True, id="the first way that matches"),
        pytest.param('D.model.find("a.*?0") == "a10"', True, id="as little as possible"),
        pytest.param('D.model.findAll("[0-9]") == ["1", "0", "0"]', True, id="all of them"),
        pytest.param('D.model.findAll("[0-9]", 2) == ["1", "0"]', True, id="the first two"),
        pytest.param('"aXbXc".findAll("b*") == ["", "", "b", "", ""]', True, id="empty matches"),
        pytest.param('D.model.find("z") == ""', True, id="no match"),
        pytest.param('D.count.matches("8")', "no such overload", id="a number matches nothing"),
        pytest.param("D.model.matches(D.count)", "no such overload", id="a pattern must be a text"),
    ],
)
def test_patterns(expression: str, expected: bool | str) -> None:
    """Regular expressions as RE2 has them."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("[3, 1, 2].sort() == [1, 2, 3]", True, id="sorted"),
        pytest.param("[D.driverVersion].sort() == []", "list elements must be comparable", id="elements without order"),
        pytest.param(
            '[dyn(1), dyn("a")].sort() == []', "list elements must have the same type", id="elements of different types"
        ),
        pytest.param("[1, 2, 1].distinct() == [1, 2]", True, id="each once"),
        pytest.param("[1, 2].reverse() == [2, 1]", True, id="the other way round"),
        pytest.param("[1, 2, 3].slice(1, 3) == [2, 3]", True, id="a part of a list"),
        pytest.param(
            "[1, 2, 3].slice(1, 4) == []", "cannot slice(1, 4), list is length 3", id="a part that is not there"
        ),
        pytest.param("[[1], [2, 3]].flatten() == [1, 2, 3]", True, id="flat"),
        pytest.param("lists.range(3) == [0, 1, 2]", True, id="a range"),
        pytest.param(
            "lists.range(10000000).size() > 1",
            "lists.range: size 10000000 exceeds maximum allowed (1000000)",
            id="a range that is too long",
        ),
        pytest.param("[1, 2].sum() == 3", True, id="the sum"),
        pytest.param("D.model.sum() == 3", "no such overload: sum(string)", id="the sum of a text"),
        pytest.param('["a", "b"].max() == "b"', True, id="the largest"),
        pytest.param("[].max() == 1", "max called on empty list", id="the largest of nothing"),
        pytest.param("[1, 2, 2].isSorted()", True, id="in order"),
        pytest.param("[1, 2, 1].lastIndexOf(1) == 2", True, id="the place of an element"),
        pytest.param('D.model.includes("a100")', True, id="a single value includes itself"),
        pytest.param("[1, 2].includes(2)", True, id="a list includes its elements"),
        pytest.param("[1, 2].first().value() == 1", True, id="the first element"),
        pytest.param("[].last().hasValue()", False, id="the last of nothing"),
        pytest.param(
            '[1, "a"].size() == 2',
            "1:5: expected type 'int' but found 'string'",
            id="elements of different types, written",
        ),
        pytest.param(
            '[D.model, "a"].size() == 2',
            "1:46: expected type 'dyn' but found 'string'",
            id="an attribute and a text in one list",
        ),
        pytest.param("sets.contains([1, 2, 3], [1, 3])", True, id="all of a set"),
        pytest.param("sets.equivalent([1, 2], [2, 1, 1])", True, id="the same sets"),
        pytest.param("sets.intersects([1], [2])", False, id="something in common"),
    ],
)
def test_lists(expression: str, expected: bool | str) -> None:
    """Functions of lists."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('C.memory == quantity("42949672960")', True, id="the same amount in another spelling"),
        pytest.param('quantity("41Gi") == C.memory.add(quantity("1Gi"))', "no such overload", id="a sum on the right"),
        pytest.param('C.memory.add(quantity("1Gi")) == quantity("41Gi")', True, id="a sum on the left"),
        pytest.param('C.memory.sub(C.memory).add(1) == quantity("1")', True, id="a sum with a number"),
        pytest.param("C.cores.asInteger() == 1", "cannot convert value to integer", id="a fraction is no integer"),
        pytest.param("C.cores.asApproximateFloat() == 1.5", True, id="a fraction as float"),
        pytest.param("sign(C.memory) == 1", True, id="the sign is a function"),
        pytest.param(
            "C.memory.sign() == 1",
            "1:47: found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
            id="the sign is no method",
        ),
        pytest.param(
            "C.cores.isLessThan(C.memory) && C.memory.isGreaterThan(C.cores) && C.memory.compareTo(C.memory) == 0",
            True,
            id="the order",
        ),
        pytest.param(
            "D.model.compareTo(C.memory) == 0",
            "no such overload: compareTo(string, kubernetes.Quantity)",
            id="a text is compared with a quantity",
        ),
        pytest.param('quantity("200K").isInteger()', "unable to parse quantity's suffix", id="K is no suffix"),
        pytest.param(
            'quantity("") == C.memory',
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="nothing is no quantity",
        ),
        pytest.param("quantity(D.count) == C.memory", "no such overload: quantity(int)", id="a quantity of a number"),
        pytest.param('["5.", ".5", "1e3", "+1", "-2Ki"].all(x, isQuantity(x))', True, id="texts that are quantities"),
        pytest.param('["", "K", "1.2.3", "abc"].exists(x, isQuantity(x))', False, id="texts that are none"),
        pytest.param('C.big.isGreaterThan(quantity("9E")) && !C.big.isInteger()', True, id="larger than 64 bits"),
        pytest.param(
            'string(C.memory) == "40Gi"',
            "1:7: found no matching overload for 'string' applied to '(kubernetes.Quantity)'",
            id="a quantity is no text",
        ),
        pytest.param(
            (
                '["5", "5.", "2.5k", "0.1k", "1E", "9E", "1e18", "1024Mi", "999999999999999999", "0"].all(x, '
                "quantity(x).isInteger())"
            ),
            True,
            id="spellings that are integers",
        ),
        pytest.param(
            (
                '["1000m", "5.0", "0.0", "1.0Gi", "1.5Gi", "1Pi", "1Ei", "10E", "1000000000000000000", '
                '"9223372036854775807"].exists(x, quantity(x).isInteger())'
            ),
            False,
            id="spellings that are none",
        ),
    ],
)
def test_quantities(expression: str, expected: bool | str) -> None:
    """Quantities and their spelling."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('D.driverVersion.compareTo(semver("1.2.3")) == 0', True, id="equal versions"),
        pytest.param("D.pre.isLessThan(D.driverVersion)", True, id="before its release"),
        pytest.param('semver("1.2.3+b1") == semver("1.2.3+b2")', True, id="build metadata does not count"),
        pytest.param(
            'semver("v1.2.3") == semver("1.2.3")',
            'Invalid character(s) found in major number "v1"',
            id="no letter before it",
        ),
        pytest.param('semver("v1.2", true) == semver("1.2.0")', True, id="unless it is normalised"),
        pytest.param('semver("1.2.3-9").isLessThan(semver("1.2.3-alpha"))', True, id="a number before a word"),
        pytest.param('semver("1.2.3-9").isLessThan(semver("1.2.3-10"))', True, id="numbers by their size"),
        pytest.param('semver("1.2.3-a").isLessThan(semver("1.2.3-a.b"))', True, id="more parts are more"),
        pytest.param(
            "D.driverVersion.major() == 1 && D.driverVersion.minor() == 2 && D.driverVersion.patch() == 3",
            True,
            id="the parts of a version",
        ),
        pytest.param(
            'D.model.isGreaterThan(semver("1.0.0"))',
            "no such overload: isGreaterThan(string, kubernetes.Semver)",
            id="a text is no version",
        ),
        pytest.param("D.model.major() == 1", "no such overload: major(string)", id="a text has no major number"),
        pytest.param(
            'isSemver("1.2.3") && !isSemver("1.2") && isSemver("v01.2", true)', True, id="texts that are versions"
        ),
        pytest.param("D.driverVersion < D.driverVersion", "no such overload: _<_", id="versions have no operators"),
    ],
)
def test_versions(expression: str, expected: bool | str) -> None:
    """Semantic versions."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('string(D.count) == "8"', True, id="a text of a number"),
        pytest.param(
            "int(D.model) == 8", "type conversion error from 'string' to 'int'", id="a text that is no number"
        ),
        pytest.param(
            'int("x") == 8',
            "program instantiation failed: type conversion error from 'string' to 'int'",
            id="a written text that is no number",
        ),
        pytest.param('int("+5") == 5', True, id="a number with a sign"),
        pytest.param("int(-1.9) == -1", True, id="a float is cut"),
        pytest.param("int(D.count * 1.0) == 8", "no such overload", id="a float that is too large"),
        pytest.param('string(1e21) == "1e+21"', True, id="a large float as text"),
        pytest.param('string(1234567.0) == "1.234567e+06"', True, id="a float as text"),
        pytest.param(
            'string(b"\\xff") == ""',
            "program instantiation failed: invalid UTF-8 in bytes, cannot convert to string",
            id="bytes that are no text",
        ),
        pytest.param('bool("t") && bool("1") && !bool("F")', True, id="words for true"),
        pytest.param(
            "type(D.model) == string && type(1) == int && type(null) == null_type", True, id="types are values"
        ),
        pytest.param("uint(D.count - 9) == 1u", "unsigned integer overflow", id="a negative number without sign"),
        pytest.param(
            'string(D.driverVersion) == "1.2.3"', "no such overload: string(kubernetes.Semver)", id="a version as text"
        ),
    ],
)
def test_conversions(expression: str, expected: bool | str) -> None:
    """From type to type."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('timestamp("2024-01-02T03:04:05Z").getFullYear() == 2024', True, id="parts of a moment"),
        pytest.param('timestamp("2024-01-02T03:04:05Z").getHours("-02:30") == 0', True, id="on another clock"),
        pytest.param('timestamp(0) + duration("1m") == timestamp(60)', True, id="a moment and a span"),
        pytest.param(
            'timestamp("9999-12-31T23:59:59Z") + duration("1s") == timestamp(0)',
            "timestamp overflow",
            id="after the last year",
        ),
        pytest.param(
            'timestamp("2024-02-30T00:00:00Z") == timestamp(0)', "1:11: invalid timestamp argument", id="no moment"
        ),
        pytest.param('duration("1d") == duration("24h")', "1:10: invalid duration argument", id="no span"),
        pytest.param('string(duration("1500ms")) == "1.5s"', True, id="a span as text"),
        pytest.param('ip("10.0.0.1").family() == 4 && ip("::1").isLoopback()', True, id="an address"),
        pytest.param(
            'ip("10.0.0") == ip("::1")',
            (
                'IP Address "10.0.0" parse error during conversion from string: ParseAddr("10.0.0"): IPv4 '
                "address too short"
            ),
            id="no address",
        ),
        pytest.param(
            'ip("fe80::1%eth0") == ip("::1")',
            'IP address "fe80::1%eth0" with zone value is not allowed',
            id="a zone is refused",
        ),
        pytest.param('cidr("10.0.0.0/8").containsIP("10.1.2.3")', True, id="in a network"),
        pytest.param('cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")', True, id="a network in a network"),
        pytest.param(
            'cidr("10.1.2.3/33") == cidr("10.0.0.0/8")',
            (
                "network address parse error during conversion from string: network address parse error during "
                'conversion from string: netip.ParsePrefix("10.1.2.3/33"): prefix length out of range'
            ),
            id="no network",
        ),
        pytest.param('string(cidr("10.1.2.3/8").masked()) == "10.0.0.0/8"', True, id="the network of an address"),
        pytest.param('format.dns1123Label().validate("a-b") == optional.none()', True, id="a label"),
        pytest.param('format.dns1123Label().validate("A").hasValue()', True, id="no label"),
    ],
)
def test_times_and_networks(expression: str, expected: bool | str) -> None:
    """Moments, spans and addresses."""
    assert answer(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(
            "foo == 1", "1:1: undeclared reference to 'foo' (in container '')", id="a name that is not declared"
        ),
        pytest.param(
            "foo(1)", "1:4: undeclared reference to 'foo' (in container '')", id="a function that is not declared"
        ),
        pytest.param(
            "D.model.foo()", "1:47: undeclared reference to 'foo' (in container '')", id="a method that is not declared"
        ),
        pytest.param(
            "1 +",
            (
                "1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', "
                "'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
            ),
            id="nothing after an operator",
        ),
        pytest.param(
            "1 == 1 )", "1:8: Syntax error: extraneous input ')' expecting <EOF>", id="something after the end"
        ),
        pytest.param("break", "1:1: reserved identifier: break", id="a reserved word"),
        pytest.param("9223372036854775808 == 1", "1:1: invalid int literal", id="too large a number"),
        pytest.param("D.count + 1", "must evaluate to bool or the unknown type, not int", id="no bool can come of it"),
        pytest.param(
            '"a".startsWith()',
            "1:15: found no matching overload for 'startsWith' applied to 'string.()'",
            id="the wrong number of arguments",
        ),
        pytest.param(
            '{1: 1, "a": 2}.size() == 2',
            "1:8: expected type 'int' but found 'string'",
            id="a map with keys of two types",
        ),
        pytest.param(
            "1.all(x, true)",
            "1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
            id="a loop over a number",
        ),
        pytest.param("[1].all(x, x)", "1:12: expected type 'bool' but found 'int'", id="a condition that is a number"),
        pytest.param(
            "foo == 1 &&\n bar == 2",
            (
                "1:1: undeclared reference to 'foo' (in container '')\n2:2: undeclared reference to 'bar' (in "
                "container '')"
            ),
            id="errors on two lines",
        ),
    ],
)
def test_compile_errors(expression: str, expected: bool | str) -> None:
    """What does not compile, and where."""
    assert answer(expression) == expected
