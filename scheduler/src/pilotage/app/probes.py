"""The probes of a live scheduler."""

from pilotage.telemetry.health import Check, Health, ping


def health(*, leads: Check | None, stopping: Check, synced: Check, watches: Check, loop: Check) -> Health:
    """Return the checks of each probe with kube-scheduler's names; the last two are our own.

    Without leader election there is no check `leads`.
    """
    elected = {} if leads is None else {"leaderElection": leads}
    return Health(
        {
            "healthz": (elected or {"ping": ping}) | {"loop": loop, "watches": watches},
            "livez": {"ping": ping, "loop": loop, "watches": watches},
            "readyz": elected | {"shutdown": stopping, "sched-handler-sync": synced},
        }
    )
