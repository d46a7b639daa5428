"""Applications whose workloads communicate with each other, and the network costs of a cluster."""

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.node_resource_topology import Quantity


class AppWorkload(Struct, frozen=True, gc=False, rename="camel"):
    """A workload of an application; its pods have the selector as a label."""

    kind: str = ""
    name: str = ""
    selector: str = ""
    api_version: str = ""
    namespace: str = ""


class AppDependency(Struct, frozen=True, gc=False, rename="camel"):
    """Another workload that a workload communicates with."""

    workload: AppWorkload = AppWorkload()
    min_bandwidth: Quantity | None = None
    max_network_cost: int = 0


class AppGroupWorkload(Struct, frozen=True, gc=False, rename="camel"):
    """A workload and its dependencies."""

    workload: AppWorkload = AppWorkload()
    dependencies: tuple[AppDependency, ...] = ()


class AppGroupSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The workloads of an application."""

    num_members: int = 0
    topology_sorting_algorithm: str = ""
    workloads: tuple[AppGroupWorkload, ...] = ()


class AppTopologyOrder(Struct, frozen=True, gc=False, rename="camel"):
    """The position of a workload in the scheduling order, computed by a controller."""

    workload: AppWorkload = AppWorkload()
    index: int = 0


class AppGroupStatus(Struct, frozen=True, gc=False, rename="camel"):
    """A controller's status of an application."""

    running_workloads: int = 0
    topology_order: tuple[AppTopologyOrder, ...] = ()


class AppGroup(KubeObject, group="appgroup.diktyo.x-k8s.io", version="v1alpha1", plural="appgroups"):
    """An application."""

    spec: AppGroupSpec = AppGroupSpec()
    status: AppGroupStatus = AppGroupStatus()


class NetworkCost(Struct, frozen=True, gc=False, rename="camel"):
    """The cost of traffic to a destination."""

    destination: str = ""
    network_cost: int = 0
    bandwidth_capacity: Quantity | None = None
    bandwidth_allocated: Quantity | None = None


class NetworkOrigin(Struct, frozen=True, gc=False, rename="camel"):
    """The costs from one origin to its destinations."""

    origin: str = ""
    cost_list: tuple[NetworkCost, ...] = ()


class NetworkTopologyList(Struct, frozen=True, gc=False, rename="camel"):
    """Costs between regions, or between zones."""

    topology_key: str = ""
    origin_list: tuple[NetworkOrigin, ...] = ()


class NetworkWeights(Struct, frozen=True, gc=False, rename="camel"):
    """A set of costs, by name."""

    name: str = ""
    topology_list: tuple[NetworkTopologyList, ...] = ()


class NetworkTopologySpec(Struct, frozen=True, gc=False, rename="camel"):
    """The sets of costs."""

    configmap_name: str = ""
    weights: tuple[NetworkWeights, ...] = ()


class NetworkTopology(
    KubeObject, group="networktopology.diktyo.x-k8s.io", version="v1alpha1", plural="networktopologies"
):
    """The network costs of a cluster."""

    spec: NetworkTopologySpec = NetworkTopologySpec()
