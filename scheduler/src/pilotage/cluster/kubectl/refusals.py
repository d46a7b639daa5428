"""What can go wrong between the user's machine and a server, with any client."""

FORBIDDEN, NOT_FOUND = 403, 404


class Refused(Exception):
    """The server refused the request; the message is the server's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message

    @property
    def is_forbidden(self) -> bool:
        """Whether a right is missing."""
        return self.status == FORBIDDEN

    @property
    def is_absent(self) -> bool:
        """Whether the object or path does not exist."""
        return self.status == NOT_FOUND


class NotReached(Exception):
    """There is no answer, for lack of a server, a program or credentials; the text says what to do."""


class NoCluster(NotReached):
    """Not even the API server responds."""
