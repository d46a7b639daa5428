"""What the tests of controllers have in common."""

import pytest

from pilotage_operator.controllers import runtime, work_queue


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for long."""
    monkeypatch.setattr(work_queue, "INTERVAL", 0.02)
    monkeypatch.setattr(runtime, "LOOK_FOR_DEFINITIONS", 0.1)
    monkeypatch.setattr(runtime, "NOT_WHOLE_YET", 0.02)
    monkeypatch.setattr(runtime, "SOON", 0.02)
    monkeypatch.setattr(runtime, "LATER", 0.05)
