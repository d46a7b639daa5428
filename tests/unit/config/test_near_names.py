"""The name that is meant, among a few and among thousands."""

import pytest

from pilotage.config.suggestions import near_of_many

FEW = ["worker-1", "worker-2", "gpu-1"]
MANY = [f"ip-10-0-{number // 250}-{number % 250}.example.com" for number in range(5000)]


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("worker-11", FEW, "worker-1"),
        ("nothing-like-it", FEW, ""),
        ("ip-10-0-7-77.exmple.com", MANY, "ip-10-0-7-77.example.com"),
        ("ip-10-0-7-77.example.comm", MANY, "ip-10-0-7-77.example.com"),
        ("ip-10-0-7-77.eaxmple.com", MANY, "ip-10-0-7-77.example.com"),
        ("ip-10-0-7-300.example.com", MANY, "ip-10-0-7-100.example.com"),
        ("ip-10-0-7-77.example.com", ["ip-10-0-7-77.example.com", *MANY], "ip-10-0-0-77.example.com"),
        ("two-typos-away-from-all", MANY, ""),
        ("x" * 1000, MANY, ""),
        ("", MANY, ""),
    ],
    ids=[
        "of few",
        "of few, none",
        "a letter too few",
        "too many",
        "swapped",
        "wrong",
        "itself",
        "none",
        "long",
        "empty",
    ],
)
def test_near_of_many(word: str, known: list[str], found: str) -> None:
    assert near_of_many(word, known) == found
    assert near_of_many(word, frozenset(known)) == found
