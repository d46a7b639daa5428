from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.unschedulable import Pool, gated_pool, unschedulable_pool
from pilotage.testing import make_pod


def rejected(name: str, *plugins: str, scheduler: str = "default-scheduler") -> QueuedPod:
    queued = QueuedPod(make_pod(name, scheduler=scheduler), 0)
    queued.unschedulable_plugins = set(plugins)
    return queued


def waiting(pool: Pool, plugin: str, scheduler: str = "default-scheduler") -> list[str]:
    return list(pool.waiting_for((scheduler, plugin)))


def test_pods_are_found_by_who_rejected_them() -> None:
    pool = unschedulable_pool()
    first, second = rejected("a", "Fit", "Taint"), rejected("b", "Taint")
    second.pending_plugins = {"Devices"}
    for queued in (first, second, rejected("c", "Fit", scheduler="batch")):
        pool.add(queued)
    assert len(pool) == 3
    assert waiting(pool, "Fit") == ["default/a"]
    assert waiting(pool, "Taint") == ["default/a", "default/b"]
    assert waiting(pool, "Devices") == ["default/b"]
    assert waiting(pool, "Fit", "batch") == ["default/c"]
    assert waiting(pool, "Other") == []


def test_a_pod_leaves_no_trace_though_its_rejectors_have_changed() -> None:
    pool = unschedulable_pool()
    queued = rejected("a", "Fit")
    pool.add(queued)
    queued.unschedulable_plugins = {"Gate"}
    pool.remove(queued)
    assert (len(pool), waiting(pool, "Fit"), waiting(pool, "Gate")) == (0, [], [])


def test_gated_pods_are_found_by_their_gate_only() -> None:
    pool = gated_pool()
    queued = rejected("a", "Fit", "Gate")
    queued.gating_plugin = "Gate"
    pool.add(queued)
    assert (waiting(pool, "Gate"), waiting(pool, "Fit")) == (["default/a"], [])
