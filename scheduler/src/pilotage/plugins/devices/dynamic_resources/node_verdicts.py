"""Which nodes a pod's claims reject, with kube-scheduler's texts."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pilotage.framework.api.nodes import Bools, NodeInfo, Nodes
from pilotage.framework.api.verdicts import Filtered, PluginFailed, Verdicts
from pilotage.plugins.devices.dynamic_resources.device_cycle import DeviceCycle
from pilotage.plugins.devices.dynamic_resources.outcomes import (
    FAILED,
    LACKS_RESOURCE,
    NO_DEVICES,
    POOLS_ARE_INVALID,
    AllocationFailed,
    NoSolution,
)
from pilotage.plugins.devices.dynamic_resources.pod_claims import hopeless

NO_SOLUTION = hopeless(NO_DEVICES)
INVALID = hopeless(POOLS_ARE_INVALID)
UNAVAILABLE = hopeless("resourceclaim not available on the node")
CANNOT_FIT = hopeless(LACKS_RESOURCE)
LEFTOVER = hopeless("cannot schedule extended resource claim")
# Searches stop when their time is over, if some node fits; kube-scheduler stops them when enough nodes fit.
STOPPED = hopeless("asked by caller to stop allocating devices: other nodes fit")
# Those of a search have its codes; the one of a failure is not used for any node.
REJECTIONS = (NO_SOLUTION, INVALID, UNAVAILABLE, CANNOT_FIT, LEFTOVER, STOPPED)


def verdict(state: DeviceCycle, node: NodeInfo) -> Filtered:
    """Return why a node is rejected, or None; PluginFailed if the search ends with an error."""
    if state.leftover is not None:
        return LEFTOVER
    with failing():
        found = None if state.ask is None else state.ask.on_node(node.node)
    if isinstance(found, NoSolution):
        return hopeless(found.text)
    return UNAVAILABLE if state.is_unavailable_on(node) else None


def verdicts(state: DeviceCycle, nodes: Nodes) -> Verdicts:
    """Return the same for many nodes; the first node with an error fails the attempt, as in kube-scheduler."""
    codes = np.zeros(len(nodes), np.uint16)
    if state.leftover is not None:
        return Verdicts(codes + REJECTIONS.index(LEFTOVER) + 1, REJECTIONS)
    if state.ask is not None:
        with failing():
            answers = state.ask.on_nodes(nodes)
        codes = answers.codes.astype(np.uint16)
        failed = np.flatnonzero(codes == FAILED)
        if len(failed) and not (answers.unfinished[failed].all() and _fits_somewhere(state, nodes, codes == 0)):
            raise PluginFailed(answers.failure(int(failed[0])))
        codes[failed] = REJECTIONS.index(STOPPED) + 1
    searched = codes == 0
    codes[state.unavailable_on(nodes, searched) & searched] = REJECTIONS.index(UNAVAILABLE) + 1
    return Verdicts(codes, REJECTIONS)


def _fits_somewhere(state: DeviceCycle, nodes: Nodes, found: Bools) -> bool:
    return bool((found & ~state.unavailable_on(nodes, found)).any())


@contextmanager
def failing() -> Iterator[None]:
    """Fail the attempt with the text of a failed search."""
    try:
        yield
    except AllocationFailed as error:
        raise PluginFailed(str(error)) from error
