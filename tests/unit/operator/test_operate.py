"""What the operator tells of errors that nobody caught."""

import asyncio
import logging

import pytest

from pilotage_operator.operate import unless_it_was_closed


async def test_only_streams_that_were_closed_while_they_were_read_are_no_surprise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    with caplog.at_level(logging.ERROR):
        unless_it_was_closed(loop, {"message": "closing failed", "asyncgen": object()})
        assert caplog.messages == []
        unless_it_was_closed(loop, {"message": "a task failed"})
    assert caplog.messages == ["a task failed"]
