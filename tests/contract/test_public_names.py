"""What plugin authors may rely on: the names of `pilotage.plugin` and `pilotage.testing`; pages use no others."""

import re
from pathlib import Path

import pytest

import pilotage.plugin
import pilotage.testing

ROOT = Path(__file__).parents[2]

# A name that goes from here must be deprecated first: CONTRIBUTING.md says how.
PLUGIN = """
    ANYTHING CLUSTER MAX_SCORE NODE NODE_ADDED NODE_ALLOCATABLE_CHANGED NODE_LABELS_CHANGED NODE_TAINTS_CHANGED POD
    POD_DELETED SHAPE SKIP SKIP_KIND SKIP_SHAPE STATIC Action Api ApiFailed Arguments At Bind Bools BrokenLine
    CSIDriver CSINode CSIStorageCapacity Caching Change Cycle DeviceClass Difference Event EvictionRule Fault Filter
    Filtered FollowsPods FormsGangs GangName Handle Ints KubeObject LoadSource Namespace NoRoom Node NodeInfo NodeName
    Nodes Nominated Nominations NotAllowed Objects OnlyNodes Per Permission Permit PersistentVolume
    PersistentVolumeClaim Plugin PluginFailed Pod PodDisruptionBudget PodNames PostBind PostFilter PreBind PreEnqueue
    PreFilter PreFiltered PreScore PriorityClass QueueSort QueuedPod Rejection Remedy ReplicaSet ReplicationController
    Reserve Resource ResourceClaim Retry Scope Score Service Skip StatefulSet StorageClass Target Trial UsesLoad
    Verdicts VolumeAttachment Wait WaitingPod WaitingPods by_maximum by_maximum_reversed by_range gang_of invalid
    nothing_to_note
"""
TESTING = """
    FakeApi FakeCluster FakeEvents FakeScheduler Manifest Write decode_node decode_pod filter_all handle_of
    plugin_set_of make_node make_pod node_manifest pod_manifest raw_scores reason_of score_all verdicts_of
"""

PAGES = [*ROOT.glob("README*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "charts").rglob("*.md")]
EXAMPLES = [*(ROOT / "examples").rglob("*.py"), *(ROOT / "charts/pilotage/ci").glob("*.yaml")]


@pytest.mark.parametrize(
    ("module", "names"), [(pilotage.plugin, PLUGIN), (pilotage.testing, TESTING)], ids=["plugin", "testing"]
)
def test_exported_names_are_these(module: object, names: str) -> None:
    exported = module.__all__  # type: ignore[attr-defined]
    assert exported == sorted(exported, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert set(exported) == set(names.split())
    assert all(hasattr(module, name) for name in exported)


def test_pages_and_examples_import_what_is_exported() -> None:
    found = {
        (str(file.relative_to(ROOT)), imported)
        for file in (*PAGES, *EXAMPLES)
        for imported in re.findall(r"^\s*(?:from|import) (pilotage[\w.]*)", file.read_text(), re.MULTILINE)
    }
    assert found
    assert {imported for _, imported in found} == {"pilotage.plugin", "pilotage.testing"}, found
