"""Answers out of objects as the API server shows them: plain JSON in, plain JSON out, and no engine.

The small kubectl plugin has these too, so only Python's own library is imported here.
"""
