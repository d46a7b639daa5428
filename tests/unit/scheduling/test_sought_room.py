"""What several plugins that make room come to: whether an earlier nomination of a node stands."""

import pytest

from pilotage.framework.api.verdicts import Nominated, NoRoom
from pilotage.scheduling.post_filter import PostFilterResult

NEUTRAL, BACK = NoRoom("", keeps_nomination=True), NoRoom("no room")
STANDS, TAKEN_BACK = None, ""


@pytest.mark.parametrize(
    ("answers", "nomination"),
    [
        pytest.param([NEUTRAL], STANDS, id="nobody says anything about it"),
        pytest.param([NEUTRAL, BACK], TAKEN_BACK, id="one takes it back"),
        pytest.param([BACK, NEUTRAL], TAKEN_BACK, id="one takes it back first"),
        pytest.param([BACK, Nominated("n2", (), "")], "n2", id="another node was found"),
    ],
)
def test_an_earlier_nomination(answers: list[NoRoom | Nominated], nomination: str | None) -> None:
    room = PostFilterResult(asked=True)
    for answer in answers:
        room.take(answer)
    assert room.nominate == nomination
