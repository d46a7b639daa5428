"""Errors for users."""


class Problem(Exception):
    """One sentence with the problem and its fix; shown without a traceback."""
