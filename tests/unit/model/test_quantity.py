from contextlib import suppress
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.model.quantity import (
    LARGEST,
    SMALLEST,
    Form,
    InvalidQuantity,
    from_milli_value,
    from_value,
    milli_value_of,
    parse,
    value_of,
)

SCALES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
    **{f"e{power}": Fraction(10) ** power for power in range(-20, 21)},
    **{f"E+{power}": Fraction(10) ** power for power in range(21)},
}


# Every line was also put to apimachinery v0.37.1, whose canonical form and counts are the same.
@pytest.mark.parametrize(
    ("text", "value", "milli", "shown"),
    [
        pytest.param("0", 0, 0, "0", id="nothing"),
        pytest.param("12", 12, 12000, "12", id="a whole number"),
        pytest.param("+2", 2, 2000, "2", id="an explicit plus"),
        pytest.param("1.5", 2, 1500, "1500m", id="a fraction counts as the next whole unit"),
        pytest.param("-1.5", -2, -1500, "-1500m", id="a negative fraction rounds away from zero"),
        pytest.param(".5", 1, 500, "500m", id="no digit before the point"),
        pytest.param("1.G", 10**9, 10**12, "1G", id="no digit after the point"),
        pytest.param("100m", 1, 100, "100m", id="memory of 100m is one byte"),
        pytest.param("100u", 1, 1, "100u", id="cpu of 100u is one millicore"),
        pytest.param("7n", 1, 1, "7n", id="billionths"),
        pytest.param("0.1n", 1, 1, "1n", id="digits finer than a billionth round up"),
        pytest.param("1e-50", 1, 1, "1e-9", id="the tiniest amount is a billionth"),
        pytest.param("0e-50", 0, 0, "0", id="nothing at all does not round up"),
        pytest.param("1k", 1000, 10**6, "1k", id="k is decimal"),
        pytest.param("2E3", 2000, 2 * 10**6, "2e3", id="E with digits begins an exponent"),
        pytest.param("2e+0003", 2000, 2 * 10**6, "2e3", id="an exponent may have a sign and leading zeros"),
        pytest.param("1e4", 10**4, 10**7, "10e3", id="exponents are shown in steps of three"),
        pytest.param("5e0", 5, 5000, "5", id="an exponent of zero is not shown"),
        pytest.param("1Ki", 1024, 1024000, "1Ki", id="Ki is binary"),
        pytest.param("1024Mi", 2**30, 2**30 * 1000, "1Gi", id="the largest exact suffix is shown"),
        pytest.param("1.5Gi", 3 * 2**29, 3 * 2**29 * 1000, "1536Mi", id="Gi takes fractions"),
        pytest.param("0.5Ki", 512, 512000, "512", id="below 1Ki no binary suffix is shown"),
        pytest.param("0.1Ki", 103, 102400, "102400m", id="binary suffixes show no fractions"),
        pytest.param("0.0001Ki", 1, 103, "102400u", id="less than one of a binary kind is decimal"),
        pytest.param("1000000", 10**6, 10**9, "1M", id="a plain number is shown with a suffix"),
        pytest.param("-", 0, 0, "0", id="a sign alone is nothing"),
        pytest.param(".", 0, 0, "0", id="a point alone is nothing"),
        pytest.param("Ki", 0, 0, "0", id="a suffix alone is nothing"),
        pytest.param("e-9", 0, 0, "0", id="an exponent alone is nothing"),
    ],
)
def test_reads_counts_and_shows(text: str, value: int, milli: int, shown: str) -> None:
    assert (value_of(text), milli_value_of(text), str(parse(text))) == (value, milli, shown)


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        pytest.param("10E", LARGEST, LARGEST, id="too many whole units"),
        pytest.param("1e90", LARGEST, LARGEST, id="far too many"),
        pytest.param("-10E", SMALLEST, SMALLEST, id="too few"),
        pytest.param("1E", 10**18, LARGEST, id="too many thousandths only"),
        pytest.param("9223372036854775808", LARGEST, LARGEST, id="one too many"),
        pytest.param("8Ei", LARGEST, LARGEST, id="binary amounts are capped when read"),
        pytest.param("-9Ei", -LARGEST, SMALLEST, id="and symmetrically"),
    ],
)
def test_what_64_bits_cannot_hold_is_the_nearest_that_they_can(text: str, value: int, milli: int) -> None:
    assert (value_of(text), milli_value_of(text)) == (value, milli)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="an empty text"),
        pytest.param(" 1", id="a space"),
        pytest.param("1\n", id="a line break"),
        pytest.param("NaN", id="no number"),
        pytest.param("inf", id="infinity"),
        pytest.param("٣", id="digits of another script"),
        pytest.param("1٣", id="digits of two scripts"),
        pytest.param("0x10", id="hexadecimal"),
        pytest.param("1_000", id="grouped digits"),
        pytest.param("--1", id="two signs"),
        pytest.param("1.2.3", id="two points"),
        pytest.param("1e", id="an exponent without digits"),
        pytest.param("1e+", id="an exponent with a sign alone"),
        pytest.param("1e5e5", id="two exponents"),
        pytest.param("1e1.5", id="a broken exponent"),
        pytest.param("1K", id="a K without i"),
        pytest.param("1ki", id="a small k with i"),
        pytest.param("1mi", id="a small m with i"),
        pytest.param("1Ki5", id="digits after a suffix"),
        pytest.param("Ei", id="Ei wants a digit"),
        pytest.param(".Pi", id="Pi wants a digit"),
        pytest.param("e-10", id="what is finer than a billionth wants a digit"),
        pytest.param("1e999", id="an absurd exponent"),
        pytest.param("1e4294967296", id="an exponent that wraps around 32 bits"),
        pytest.param("9" * 100_000, id="100,000 digits"),
        pytest.param("1e" + "9" * 100_000, id="an exponent of 100,000 digits"),
    ],
)
def test_refuses(text: str) -> None:
    with pytest.raises(InvalidQuantity):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("4 Gi", "'4 Gi' is not a quantity: write it like 2, 0.5, 500m, 1e3 or 4Gi", id="how to write it"),
        pytest.param("1e999", "'1e999' is not a quantity: its exponent is beyond 99", id="what is wrong"),
        pytest.param(
            "9" * 100_000,
            f"'{'9' * 40}'... (100000 characters) is not a quantity: write it like 2, 0.5, 500m, 1e3 or 4Gi",
            id="no more of the text than a person reads",
        ),
    ],
)
def test_a_refusal_says_why(text: str, message: str) -> None:
    with pytest.raises(InvalidQuantity) as refusal:
        parse(text)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("number", "shown"),
    [pytest.param(2, "2", id="whole"), pytest.param(0.5, "500m", id="broken"), pytest.param(1e22, "10e21", id="huge")],
)
def test_a_plain_number_of_a_manifest_is_a_quantity(number: float, shown: str) -> None:
    assert str(parse(number)) == shown


def test_amounts_are_shown_as_they_are_written() -> None:
    shown = [str(from_milli_value(1500)), str(from_value(2**30, Form.BINARY)), str(from_value(10**21))]
    assert shown == ["1500m", "1Gi", "1000E"]


@st.composite
def quantities(draw: st.DrawFn) -> tuple[str, Fraction, bool]:
    """Draw a text, the exact amount that it stands for, and whether its suffix is binary."""
    sign = draw(st.sampled_from(["", "+", "-"]))
    whole = draw(st.text("0123456789", min_size=1, max_size=24))
    fraction = draw(st.text("0123456789", max_size=24))
    suffix = draw(st.sampled_from(sorted(SCALES)))
    point = "." if fraction else draw(st.sampled_from(["", "."]))
    amount = Fraction(int(whole + fraction), 10 ** len(fraction)) * SCALES[suffix]
    return f"{sign}{whole}{point}{fraction}{suffix}", -amount if sign == "-" else amount, suffix.endswith("i")


def away_from_zero(amount: Fraction) -> int:
    return ceil(amount) if amount >= 0 else -ceil(-amount)


@given(quantities())
def test_agrees_with_exact_fractions(drawn: tuple[str, Fraction, bool]) -> None:
    text, amount, binary = drawn
    amount = Fraction(away_from_zero(amount * 10**9), 10**9)
    if binary:
        amount = max(Fraction(-LARGEST), min(Fraction(LARGEST), amount))
    assert Fraction(parse(text).nanos, 10**9) == amount
    assert value_of(text) == max(SMALLEST, min(LARGEST, away_from_zero(amount)))
    assert milli_value_of(text) == max(SMALLEST, min(LARGEST, away_from_zero(amount * 1000)))


@given(quantities())
def test_what_is_shown_reads_as_the_same_amount(drawn: tuple[str, Fraction, bool]) -> None:
    quantity = parse(drawn[0])
    shown = parse(str(quantity))
    assert (shown.nanos, str(shown)) == (quantity.nanos, str(quantity))


@given(st.text() | st.text("0123456789.+-eEinumkKMGTP", max_size=12))
def test_any_text_is_a_quantity_or_is_refused(text: str) -> None:
    with suppress(InvalidQuantity):
        assert SMALLEST <= value_of(text) <= LARGEST
