"""What a running scheduler asks others for, and whoever decides in memory does without."""

from pilotage.app import Configured
from pilotage.framework.load.load_aware import LoadAware
from pilotage.profiles import Profile


def unasked(ready: Configured, profile: Profile) -> list[str]:
    """Return one line about the extenders and the plugins whose figures are not known; none if there are neither."""
    parts = ["the configuration's extenders"] if ready.loaded.config.extenders else []
    loads = [name for name, plugin in profile.lineup.plugins().items() if isinstance(plugin, LoadAware)]
    if loads:
        prefer = "prefers" if len(loads) == 1 else "prefer"
        parts.append(f"how busy nodes are ({', '.join(loads)} {prefer} none here)")
    return [f"not asked: {' and '.join(parts)}; the scheduler may decide otherwise"] if parts else []
