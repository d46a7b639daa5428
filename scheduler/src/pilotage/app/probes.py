"""What the probes of a live scheduler check."""

from pilotage.telemetry.health import Check, Health, ping


def health(*, leads: Check | None, stopping: Check, synced: Check, watches: Check, loop: Check) -> Health:
    """Return the checks of each probe, named as kube-scheduler names them; the last two are ours.

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
