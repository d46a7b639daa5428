"""The OpenAPI description of the read API, from its paths and structs."""

import json

from pilotage.views.openapi import openapi

UNRELEASED = "0.0.0"  # what is served names the release


def text() -> str:
    """Return docs/openapi.json."""
    return json.dumps(openapi(UNRELEASED), indent=1) + "\n"
