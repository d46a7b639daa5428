"""Answers from objects of the API server: plain JSON in, plain JSON out, and no engine.

The small kubectl plugin has these too, so only Python's own library is imported here.
"""
