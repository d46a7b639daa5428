"""Every workload, of upstream and of our own: those that can be played, and the others with the reason."""

from pathlib import Path

from bench.live import upstream
from bench.live.templates import check
from bench.live.workload_files import Refusal, Unsupported, Workload, read, templates_of

OWN = Path(__file__).parent / "own" / upstream.CONFIGURATION
# What `make bench` plays: every rule of the default profile that costs something, and what disturbs a scheduler.
GOALS = (
    "SchedulingBasic",
    "SchedulingNodeAffinity",
    "TopologySpreading",
    "PreferredTopologySpreading",
    "DefaultTopologySpreading",
    "SchedulingPodAntiAffinity",
    "SchedulingPodAffinity",
    "SchedulingPreferredPodAffinity",
    "SchedulingPreferredPodAntiAffinity",
    "SchedulingRequiredPodAntiAffinityWithNSSelector",
    "SchedulingPreferredAntiAffinityWithNSSelector",
    "SchedulingRequiredPodAffinityWithNSSelector",
    "SchedulingPreferredAffinityWithNSSelector",
    "MixedSchedulingBasePod",
    "SchedulingSecrets",
    "SchedulingDaemonset",
    "SchedulingWithMixedChurn",
    "Unschedulable",
    "PreemptionBasic",
    "PreemptionAsync",
    "Gangs",
    "Quota",
)
# Then devices, each as large as upstream has it.
DEVICE_GOALS = (
    "SchedulingWithResourceClaimTemplate/5000pods_500nodes",
    "SchedulingWithResourceClaimTemplate/half_500nodes",
    "SchedulingWithResourceClaimTemplate/full_500nodes",
    "SchedulingWithResourceClaimTemplate/selector_empty_500nodes",
    "SchedulingWithResourceClaimTemplate/match_empty_500nodes",
    "SchedulingWithResourceClaim/5000pods_500nodes",
    "ExtendedResource/Explicit_25classes_5000pods_500nodes",
    "Partitionable/half_1000nodes",
    "PartitionableBacktracking/half_1000nodes",
    "ConsumableCapacity/half_1000nodes",
    "PublishResourceSlices/5000nodes",
)
ALPHA = frozenset({"DRADeviceCompatibilityGroups", "DRAListTypeAttributes"})
SIZES = (1000, 5000)
# Then one of them on large clusters: a few pods tell what nodes cost, and kube-scheduler takes a minute for them.
LARGE, LARGE_SIZES, LARGE_PODS = "SchedulingBasic", (15_000, 65_000), 3000


def catalogue() -> tuple[list[Workload], list[Refusal]]:
    """All workloads, and all that cannot be played."""
    read_all, refusals = read([*upstream.configurations(), OWN])
    workloads = []
    for workload in read_all:
        try:
            for gate in ALPHA & workload.gates.keys():
                raise Unsupported(f"the alpha feature {gate}")
            for template in templates_of(workload):
                check(template)
        except Unsupported as reason:
            refusals.append(Refusal(workload.title, str(reason)))
        else:
            workloads.append(workload)
    return workloads, refusals
