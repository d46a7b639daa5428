"""The texts are those that kube-scheduler v1.37.1 gave."""

import logging

import pytest

from pilotage.telemetry.health import Check, Health, Heartbeat, ping


def broken() -> str | None:
    raise ValueError("secret")


def health(**readyz: Check) -> Health:
    checks: dict[str, Check] = {"leaderElection": ping, "shutdown": ping, "sched-handler-sync": ping}
    return Health({"readyz": checks | {name.replace("_", "-"): check for name, check in readyz.items()}})


def unsynced() -> str | None:
    return "handlers are not fully synchronized"


@pytest.mark.parametrize(
    ("excluded", "verbose", "expected"),
    [
        pytest.param((), False, "ok", id="nothing to tell"),
        pytest.param(("nope",), False, "ok", id="an unknown exclusion is told only to who asks for more"),
        pytest.param(
            (),
            True,
            "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n",
            id="every check by name",
        ),
        pytest.param(
            ("shutdown", "x", "y", "x"),
            True,
            "[+]leaderElection ok\n[+]shutdown excluded: ok\n[+]sched-handler-sync ok\n"
            'warn: some health checks cannot be excluded: no matches for "x","y"\nreadyz check passed\n',
            id="exclusions, known and unknown",
        ),
    ],
)
def test_all_is_well(excluded: tuple[str, ...], verbose: bool, expected: str) -> None:
    probe = health().probe("readyz", verbose=verbose, excluded=excluded)
    assert (probe.passed, probe.text) == (True, expected)


@pytest.mark.parametrize("verbose", [True, False])
def test_a_failure_is_told_without_its_reason_and_logged_with_it(
    caplog: pytest.LogCaptureFixture, verbose: bool
) -> None:
    probe = health(sched_handler_sync=unsynced).probe("readyz", verbose=verbose, excluded=["x"])
    assert not probe.passed
    assert probe.text == (
        "[+]leaderElection ok\n[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\n"
        'warn: some health checks cannot be excluded: no matches for "x"\nreadyz check failed\n'
    )
    assert caplog.messages == ["readyz check failed: sched-handler-sync: handlers are not fully synchronized"]


def test_an_excluded_failure_does_not_count() -> None:
    assert health(shutdown=unsynced).probe("readyz", excluded=["shutdown"]).passed


def test_one_check_tells_its_reason() -> None:
    one = health(shutdown=unsynced).probe_one("readyz", "shutdown")
    assert (one.passed, one.text) == (False, "internal server error: handlers are not fully synchronized\n")
    assert health().probe_one("readyz", "shutdown").text == "ok"


def test_a_check_that_breaks_is_a_failed_one(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    checks = health(shutdown=broken)
    assert "[-]shutdown failed" in checks.probe("readyz").text
    assert checks.probe_one("readyz", "shutdown").text == "internal server error: the check itself failed: ValueError\n"


def test_how_checks_came_out() -> None:
    synced = [unsynced, ping]
    checks = health(sched_handler_sync=lambda: synced[0]())
    assert checks.metrics() == b""
    checks.probe("readyz", excluded=["leaderElection"])
    synced.pop(0)
    checks.probe("readyz", excluded=["leaderElection"])
    checks.probe_one("readyz", "shutdown")
    assert checks.metrics().decode() == (
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n"
        "# TYPE kubernetes_healthcheck gauge\n"
        'kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 1\n'
        'kubernetes_healthcheck{name="shutdown",type="readyz"} 1\n'
        "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n"
        "# TYPE kubernetes_healthchecks_total counter\n"
        'kubernetes_healthchecks_total{name="sched-handler-sync",status="error",type="readyz"} 1\n'
        'kubernetes_healthchecks_total{name="sched-handler-sync",status="success",type="readyz"} 1\n'
        'kubernetes_healthchecks_total{name="shutdown",status="success",type="readyz"} 2\n'
    )
    checks.reset_metrics()
    assert checks.metrics() == b""


def test_a_loop_that_stands_still_is_noticed() -> None:
    now = 100.0
    heartbeat = Heartbeat(30.0, lambda: now)
    now = 200.0
    assert heartbeat() is None, "nothing is expected before the first beat"
    heartbeat.beat()
    now = 230.0
    assert heartbeat() is None
    now = 231.0
    assert heartbeat() == "the event loop last ran 31s ago"
    heartbeat.rest()
    assert heartbeat() is None
    heartbeat.beat()
    assert heartbeat() is None
