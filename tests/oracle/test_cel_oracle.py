"""Our evaluation of device selectors against Kubernetes' own: generated expressions and devices, the same answers."""

import pytest

from oracle.judge_expressions import differences

EXPRESSIONS = 6000
BATCH = 1000


@pytest.mark.parametrize("seed", range(EXPRESSIONS // BATCH), ids=lambda seed: f"expressions of seed {seed}")
def test_selectors_have_the_same_answers(seed: int) -> None:
    for sentence in differences(seed, BATCH):
        pytest.fail(sentence, pytrace=False)
