"""Errors of requests to an API server, by their meaning for the caller."""

import msgspec


class NoAccess(Exception):
    """There is no usable address or identity for the API server; the message says what to do."""


class Unreachable(Exception):
    """No connection could be made: nothing was sent."""


class Withheld(Exception):
    """The request was not sent: it was withdrawn before a connection became available."""


class OutcomeUnknown(Exception):
    """The request was sent and no complete response came: it may have taken effect."""


class KeptConnectionClosed(OutcomeUnknown):
    """A keep-alive connection was closed after the request and before the first byte of a response."""


class ApiError(Exception):
    """The server returned an error."""

    def __init__(self, status: int, *, reason: str, message: str, retry_after: float | None, body: bytes) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status, self.reason, self.message = status, reason, message
        self.retry_after, self.body = retry_after, body

    @property
    def is_of_ending_namespace(self) -> bool:
        """Whether an object was not created because its namespace is being deleted, which is no missing right."""
        details = _status(self.body).details
        causes = details.causes if details else None
        return any(cause.reason == _NAMESPACE_ENDS for cause in causes or ())


class _Cause(msgspec.Struct):
    reason: str = ""


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int | None = None
    causes: tuple[_Cause, ...] | None = None


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""
    details: _Details | None = None


def no_response(server: str, error: Exception) -> str:
    """Return what to tell a user whose API server does not respond."""
    return f"the API server at {server} does not respond: {error}; check its address, or name another --context"


_STATUS = msgspec.json.Decoder(_Status)
_NAMESPACE_ENDS = "NamespaceTerminating"
_LONGEST_MESSAGE = 4096
_LONGEST_QUOTE = 200


def api_error(status: int, body: bytes, retry_after: float | None) -> ApiError:
    """Decode an error response; a body that is not a Kubernetes Status is quoted."""
    found = _status(body)
    if retry_after is None and found.details and found.details.retry_after_seconds:
        retry_after = float(found.details.retry_after_seconds)
    return ApiError(
        status,
        reason=found.reason[:_LONGEST_QUOTE],
        message=found.message[:_LONGEST_MESSAGE] or "the server gave no details",
        retry_after=retry_after,
        body=body,
    )


def _status(body: bytes) -> _Status:
    try:
        return _STATUS.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Status(message=body[:_LONGEST_QUOTE].decode(errors="replace").strip())
