"""What a profile says about sharing reaches its engine, also when nothing else changes."""

import pytest

from pilotage import app
from pilotage.app.profile_engines import engines
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.config.load import load
from pilotage.profiles import Profile, build_profiles

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: batch
  pluginConfig: [{}]
"""


def profiles(sharing: str, running: dict[str, Profile] | None = None) -> dict[str, Profile]:
    catalogue, _ = app.plugins()
    entry = f"{{name: pilotage.dev/sharing, args: {sharing}}}" if sharing else ""
    return build_profiles(load(CONFIGURATION.format(entry), catalogue), catalogue, running=running)


@pytest.mark.parametrize(
    ("sharing", "guard", "spread"),
    [
        pytest.param("", True, 5, id="nothing is said"),
        pytest.param("{guard: false}", False, 5, id="no guard"),
        pytest.param("{spread: 0}", True, 0, id="no spread"),
        pytest.param("{spread: 12}", True, 12, id="a wider spread"),
    ],
)
def test_the_engine_is_told(sharing: str, guard: bool, spread: int) -> None:
    cache = ClusterCache()
    made = engines(profiles(sharing), cache)["batch"]
    assert (made.guard, made.spread) == (guard, spread)
    before = profiles("{guard: false, spread: 50}")
    running = engines(before, cache)
    again = engines(profiles(sharing, before), cache, running)
    assert again["batch"] is running["batch"]
    assert (again["batch"].guard, again["batch"].spread) == (guard, spread)
