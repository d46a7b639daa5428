"""The one kind of failure a user is meant to read."""


class Problem(Exception):
    """One sentence that says what is wrong and the way out; shown without a traceback."""
