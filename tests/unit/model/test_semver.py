from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.model.semver import InvalidSemver, Semver, normalized, parse

# As semver.org orders them, and build metadata beside.
IN_ORDER = [
    *("0.0.1", "1.0.0-0", "1.0.0-9", "1.0.0-10", "1.0.0--", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta"),
    *("1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"),
]


def test_versions_have_the_order_of_the_specification() -> None:
    assert sorted(map(parse, reversed(IN_ORDER))) == list(map(parse, IN_ORDER))
    assert all(parse(one) < parse(other) for one, other in pairwise(IN_ORDER))


def test_build_metadata_counts_for_nothing() -> None:
    assert parse("1.2.3+a") == parse("1.2.3+b")
    assert hash(parse("1.2.3+a")) == hash(parse("1.2.3"))
    assert not parse("1.2.3+a") < parse("1.2.3+b")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "Version string empty", id="nothing"),
        pytest.param("1.2", "No Major.Minor.Patch elements found", id="two numbers"),
        pytest.param("v1.2.3", 'Invalid character(s) found in major number "v1"', id="a letter before it"),
        pytest.param("1.b.3", 'Invalid character(s) found in minor number "b"', id="a word for a number"),
        pytest.param("1.2.3.4", 'Invalid character(s) found in patch number "3.4"', id="four numbers"),
        pytest.param("01.2.3", 'Major number must not contain leading zeroes "01"', id="a zero before the first"),
        pytest.param("1.02.3", 'Minor number must not contain leading zeroes "02"', id="a zero before the second"),
        pytest.param("1.2.03", 'Patch number must not contain leading zeroes "03"', id="a zero before the third"),
        pytest.param("1.2.", 'strconv.ParseUint: parsing "": invalid syntax', id="no third number"),
        pytest.param(
            "18446744073709551616.0.0",
            'strconv.ParseUint: parsing "18446744073709551616": value out of range',
            id="more than 64 bits",
        ),
        pytest.param("1.2.3-", "Prerelease is empty", id="nothing after the hyphen"),
        pytest.param("1.2.3-a..b", "Prerelease is empty", id="nothing between dots"),
        pytest.param(
            "1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"', id="a pre-release 01"
        ),
        pytest.param("1.2.3-ä", 'Invalid character(s) found in prerelease "ä"', id="a letter beyond ASCII"),
        pytest.param("1.2.3+", "Build meta data is empty", id="nothing after the plus"),
        pytest.param("1.2.3+_", 'Invalid character(s) found in build meta data "_"', id="an underscore"),
        pytest.param("٣.0.0", 'Invalid character(s) found in major number "٣"', id="a digit beyond ASCII"),
    ],
)
def test_what_is_no_version(text: str, reason: str) -> None:
    with pytest.raises(InvalidSemver) as refused:
        parse(text)
    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("v1.2.3", "1.2.3", id="a letter before it"),
        pytest.param("1", "1.0.0", id="one number"),
        pytest.param("v1.2", "1.2.0", id="two numbers"),
        pytest.param("01.002.0003", "1.2.3", id="leading zeros"),
        pytest.param("000.0.0", "0.0.0", id="zeros only"),
        pytest.param("1.2.03-a+b", "1.2.3-a+b", id="what follows stays"),
    ],
)
def test_lenient_reading(text: str, expected: str) -> None:
    assert str(normalized(text)) == expected


def test_a_short_version_has_nothing_behind_it() -> None:
    with pytest.raises(InvalidSemver, match="short version cannot contain PreRelease/Build meta data"):
        normalized("1.2-alpha")


NUMBERS = st.integers(0, 2**64 - 1).map(str)
WORDS = st.text("abz-09", min_size=1).filter(lambda word: not word.isdigit())
PARTS = st.lists(NUMBERS | WORDS, max_size=3)
VERSIONS = st.builds(
    lambda numbers, before, build: (
        ".".join(numbers) + ("-" + ".".join(before) if before else "") + ("+" + ".".join(build) if build else "")
    ),
    st.lists(NUMBERS, min_size=3, max_size=3),
    PARTS,
    st.lists(WORDS, max_size=2),
)


@given(VERSIONS)
@examples(100)
def test_a_version_is_written_as_it_was_read(text: str) -> None:
    assert str(parse(text)) == text


@given(VERSIONS, VERSIONS)
@examples(200)
def test_the_order_is_the_one_of_the_rules(one: str, other: str) -> None:
    left, right = parse(one), parse(other)
    assert (left < right, left == right, left > right) == tuple(_by_rules(left, right) == sign for sign in (-1, 0, 1))


def _by_rules(left: Semver, right: Semver) -> int:
    """Compare as semver.org says it, one rule after the other."""
    numbers, others = (left.major, left.minor, left.patch), (right.major, right.minor, right.patch)
    if numbers != others:
        return 1 if numbers > others else -1
    if bool(left.prerelease) != bool(right.prerelease):
        return -1 if left.prerelease else 1
    for one, other in zip(left.prerelease, right.prerelease, strict=False):
        if one != other:
            if isinstance(one, int) != isinstance(other, int):
                return -1 if isinstance(one, int) else 1
            return 1 if one > other else -1  # type: ignore[operator]
    return (len(left.prerelease) > len(right.prerelease)) - (len(left.prerelease) < len(right.prerelease))


@given(st.text(max_size=20) | st.text("0123456789.-+av", max_size=20))
@examples(200)
def test_any_text_is_a_version_or_is_none(text: str) -> None:
    for read in (parse, normalized):
        try:
            read(text)
        except InvalidSemver:
            continue
