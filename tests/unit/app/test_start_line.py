"""One line says what has started."""

from dataclasses import replace

import pytest

from pilotage.app.options import FollowedConfigMap
from pilotage.app.start_line import Started

PLAIN = Started("0.1.0", "v1.37.1", ["batch", "web"], FollowedConfigMap("team", "mine-config"), 3, 40, "team/mine")
WHO = "Pilotage 0.1.0 started, emulating kube-scheduler v1.37.1: it serves"


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        pytest.param(
            PLAIN,
            f"{WHO} pods with schedulerName batch or web, configured by the ConfigMap team/mine-config; "
            "it sees 3 nodes and 40 pods; waiting for the lease team/mine",
            id="a replica of a release",
        ),
        pytest.param(
            replace(PLAIN, serves=["idle.mine"], nodes=0),
            f"{WHO} no pods until there is a profile, configured by the ConfigMap team/mine-config; "
            "it sees 0 nodes and 40 pods; waiting for the lease team/mine",
            id="a release without a profile",
        ),
        pytest.param(
            replace(PLAIN, serves=["one"], followed=None, lease=""),
            f"{WHO} pods with schedulerName one, configured by its command line; it sees 3 nodes and 40 pods; "
            "scheduling without leader election",
            id="a single process",
        ),
    ],
)
def test_what_has_started(started: Started, expected: str) -> None:
    assert str(started) == expected
