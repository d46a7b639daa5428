"""What can go wrong between a person's machine and a server, whoever carries the question."""

FORBIDDEN, NOT_FOUND = 403, 404


class Refused(Exception):
    """The server said no; the message is its own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message

    @property
    def is_forbidden(self) -> bool:
        """Whether a right is missing."""
        return self.status == FORBIDDEN

    @property
    def is_absent(self) -> bool:
        """Whether there is no such thing."""
        return self.status == NOT_FOUND


class NotReached(Exception):
    """There is no answer: no server, no program, no credentials; the text says what to do."""


class NoCluster(NotReached):
    """Not even the API server responds, so that there is nobody else to ask."""
