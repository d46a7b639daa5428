"""Our device allocator against the real one: generated clusters and claims, the same devices or the same words."""

import pytest

from oracle.judge_devices import differences, story

QUESTIONS = 3000
BATCH = 300


@pytest.mark.parametrize("start", range(0, QUESTIONS, BATCH), ids=lambda start: f"questions {start} and following")
def test_the_same_devices_are_allocated(start: int) -> None:
    for asked, sentence in differences(range(start, start + BATCH)):
        pytest.fail(f"{sentence}\n--- question\n{story(asked)}", pytrace=False)
