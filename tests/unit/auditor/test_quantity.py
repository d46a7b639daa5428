from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.quantity import LARGEST, BadQuantity, parse, shown, units


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("0", 0, id="nothing"),
        pytest.param("12", 12, id="a whole number"),
        pytest.param("1.5", Fraction(3, 2), id="a fraction"),
        pytest.param(".5", Fraction(1, 2), id="a fraction without a leading digit"),
        pytest.param("5.", 5, id="a point without digits after it"),
        pytest.param("-2", -2, id="a negative number"),
        pytest.param("+2", 2, id="an explicit plus"),
        pytest.param("100m", Fraction(1, 10), id="thousandths"),
        pytest.param("7u", Fraction(7, 10**6), id="millionths"),
        pytest.param("7n", Fraction(7, 10**9), id="billionths"),
        pytest.param("1k", 1000, id="k is decimal"),
        pytest.param("1M", 10**6, id="M is decimal"),
        pytest.param("1G", 10**9, id="G is decimal"),
        pytest.param("1T", 10**12, id="T is decimal"),
        pytest.param("1P", 10**15, id="P is decimal"),
        pytest.param("1E", 10**18, id="E alone is a suffix"),
        pytest.param("1Ki", 2**10, id="Ki is binary"),
        pytest.param("1.5Mi", 3 * 2**19, id="Mi takes fractions"),
        pytest.param("1Gi", 2**30, id="Gi is binary"),
        pytest.param("1Ti", 2**40, id="Ti is binary"),
        pytest.param("1Pi", 2**50, id="Pi is binary"),
        pytest.param("1Ei", 2**60, id="Ei is binary"),
        pytest.param("2e3", 2000, id="a small e begins an exponent"),
        pytest.param("2E3", 2000, id="a big E with digits begins an exponent"),
        pytest.param("2e-3", Fraction(1, 500), id="an exponent may be negative"),
        pytest.param("1e999999999", LARGEST, id="an absurd exponent is capped"),
        pytest.param("0e999999999", 0, id="an absurd exponent of nothing is nothing"),
        pytest.param("9Ei", LARGEST, id="what the API cannot hold is capped"),
    ],
)
def test_reads(text: str, value: Fraction | int) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    "text", ["", "x", "1x", "1e", "1Kim", "1 Gi", "--1", "1.2.3", ".", "1ki", "1E3m", "9" * 999, "٣"]
)
def test_refuses(text: str) -> None:
    with pytest.raises(BadQuantity):
        parse(text)


@given(st.integers(0, 2**62), st.sampled_from(["", "m", "u", "n", "k", "Ki", "Mi"]))
def test_a_suffix_only_scales(number: int, suffix: str) -> None:
    assert parse(f"{number}{suffix}") == min(LARGEST, number * parse(f"1{suffix}"))


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        pytest.param("cpu", "100u", 1, id="cpu is rounded up to a thousandth"),
        pytest.param("cpu", "1.5", 1500, id="cpu is counted in thousandths"),
        pytest.param("memory", "100m", 1, id="memory is rounded up to a byte"),
        pytest.param("example.com/gpu", "2", 2, id="other resources are counted whole"),
    ],
)
def test_units(resource: str, text: str, amount: int) -> None:
    assert units(resource, parse(text)) == amount


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        pytest.param("cpu", 3500, "3500m", id="cpu in thousandths"),
        pytest.param("memory", 2**31, "2Gi", id="memory in the largest unit without a rest"),
        pytest.param("memory", 2**31 + 1, "2147483649", id="memory in bytes where nothing else is exact"),
        pytest.param("hugepages-2Mi", 2**22, "4Mi", id="hugepages as memory"),
        pytest.param("example.com/gpu", 2048, "2048", id="a count stays a count"),
        pytest.param("memory", 0, "0", id="nothing is nothing"),
    ],
)
def test_shown(resource: str, amount: int, text: str) -> None:
    assert shown(resource, amount) == text
