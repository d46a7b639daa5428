"""The quick look at keys and values must say what the one says that explains itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.model.label_syntax import VALUE, VALUE_RULE, complaints, is_key, is_value, key_complaints

TEXTS = st.text(st.sampled_from("aZ0-_./é \n"), max_size=12)
EDGES = [
    "", "/", "a/", "/a", "a/b/c", "a-.b/c", "a.-b/c", "a..b/c", "a--b.c/d_e", "A.b/c", "a/B", "-a", "a-", "a\n", "é",
    "a" * 63, "a" * 64, f"{'a' * 253}/b", f"{'a' * 254}/b", f"{'a.' * 126}a/b", f"a/{'b' * 63}", f"a/{'b' * 64}",
    f"{'a' * 300}",
]  # fmt: skip


@pytest.mark.parametrize("text", EDGES)
def test_edges(text: str) -> None:
    assert is_key(text) == (not key_complaints(text))
    assert is_value(text) == (not complaints(text, 63, VALUE, VALUE_RULE))


@given(TEXTS)
def test_any_text(text: str) -> None:
    assert is_key(text) == (not key_complaints(text))
    assert is_value(text) == (not complaints(text, 63, VALUE, VALUE_RULE))
