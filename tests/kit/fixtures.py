"""The types of the fixtures in tests/conftest.py, for the tests that use them."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from auditor.running import RunningAuditor

# Registers fake nodes from manifests and returns their names.
Nodes = Callable[..., list[str]]
# Runs the auditor around a `with` block; its options are those of RunningAuditor.
Audit = Callable[..., AbstractContextManager[RunningAuditor]]
