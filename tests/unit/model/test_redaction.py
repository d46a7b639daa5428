"""What is shown to people and programs has no credentials in it."""

from typing import Any

import pytest

from pilotage.model.redaction import redacted


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param({"keyData": "c2VjcmV0"}, {"keyData": "REDACTED"}, id="a key"),
        pytest.param({"certData": "cHVibGlj"}, {"certData": "cHVibGlj"}, id="a certificate is for everybody"),
        pytest.param({"args": [{"token": "t"}]}, {"args": [{"token": "REDACTED"}]}, id="a token, however deep"),
        pytest.param(
            {"authToken": "t", "dbPassword": "p"}, dict.fromkeys(("authToken", "dbPassword"), "REDACTED"), id="more"
        ),
        pytest.param({"token": ""}, {"token": ""}, id="none"),
        pytest.param({"tokenFile": "/x/token"}, {"tokenFile": "/x/token"}, id="where one is"),
        pytest.param(
            {"tokenSecretRef": {"name": "s", "key": "k"}},
            {"tokenSecretRef": {"name": "s", "key": "k"}},
            id="who has it",
        ),
        pytest.param(
            {"urlPrefix": "https://u:p@host/x"}, {"urlPrefix": "https://REDACTED@host/x"}, id="a password of a URL"
        ),
        pytest.param(
            {"urlPrefix": "https://host/a@b"}, {"urlPrefix": "https://host/a@b"}, id="a path with such a sign"
        ),
        pytest.param({"weight": 3, "on": True, "x": None}, {"weight": 3, "on": True, "x": None}, id="what is no text"),
    ],
)
def test_credentials_are_left_out(given: Any, shown: Any) -> None:
    assert redacted(given) == shown
