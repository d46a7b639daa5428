"""How many watchers of files the machine allows root: 128 as it comes, which two clusters with real nodes use up."""

from pathlib import Path

from localcluster.progress import say

WATCHERS = Path("/proc/sys/fs/inotify/max_user_instances")
WANTED = 1024
# What it was before the first cluster; like the limit itself it does not outlive the machine.
BEFORE = Path("/run/pilotage-watchers-before")


def raise_them() -> None:
    """Allow as many as several clusters need, where the machine lets us."""
    before = int(WATCHERS.read_text())
    if before >= WANTED:
        return
    try:
        BEFORE.write_text(str(before))
        WATCHERS.write_text(str(WANTED))
    except OSError:  # a machine that is a container itself may not; one cluster fits all the same
        BEFORE.unlink(missing_ok=True)
        return
    say(
        f"raising fs.inotify.max_user_instances from {before} to {WANTED}, as long as a cluster with real nodes is here"
    )


def put_them_back() -> None:
    """Allow what was allowed before."""
    if BEFORE.exists():
        WATCHERS.write_text(BEFORE.read_text())
        BEFORE.unlink()
