"""Refusals, as the API server explains them and as others do."""

import pytest

from pilotage.cluster.transport.api_errors import api_error


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(
            b'{"kind":"Status","message":"pods \\"a\\" not found","reason":"NotFound","code":404}',
            '404 NotFound: pods "a" not found', id="a Status",
        ),
        pytest.param(b"<html>gone</html>\n", "404: <html>gone</html>", id="a page of a proxy"),
        pytest.param(b"", "404: the server gave no details", id="nothing"),
        pytest.param(b"\xff\xfe", "404: \ufffd\ufffd", id="no text"),
        pytest.param(b'{"message": 7}', '404: {"message": 7}', id="another object"),
        pytest.param(b"[]", "404: []", id="no object"),
        pytest.param(b"x" * 10_000, "404: " + "x" * 200, id="far too much"),
    ],
)  # fmt: skip
def test_text(body: bytes, text: str) -> None:
    error = api_error(404, body, None)
    assert (str(error), error.status, error.body) == (text, 404, body)


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        pytest.param(
            b'{"causes":[{"reason":"NamespaceTerminating","field":"metadata.namespace"}]}', True, id="it ends"
        ),
        pytest.param(b'{"causes":[{"reason":"FieldValueInvalid"},{}]}', False, id="another cause"),
        pytest.param(b'{"causes":null}', False, id="no cause"),
        pytest.param(b'{"causes":7}', False, id="no list"),
        pytest.param(b"null", False, id="no details"),
    ],
)
def test_a_namespace_that_is_being_deleted(details: bytes, expected: bool) -> None:
    body = b'{"message":"no","reason":"Forbidden","details":' + details + b"}"
    assert api_error(403, body, None).is_of_ending_namespace is expected


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        pytest.param(3.0, b'{"retryAfterSeconds":5}', 3.0, id="the header counts"),
        pytest.param(None, b'{"retryAfterSeconds":5}', 5.0, id="else what the Status says"),
        pytest.param(None, b'{"retryAfterSeconds":0}', None, id="zero is nothing"),
        pytest.param(None, b"null", None, id="nothing is said"),
    ],
)
def test_when_to_come_again(header: float | None, details: bytes, seconds: float | None) -> None:
    assert api_error(429, b'{"details":' + details + b"}", header).retry_after == seconds
