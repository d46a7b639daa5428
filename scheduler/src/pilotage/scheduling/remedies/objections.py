"""Which filters object to which nodes, each asked on its own about all of them."""

from collections.abc import Iterator

import numpy as np

from pilotage.framework.api.nodes import Bools, Ints, Nodes
from pilotage.framework.api.plugin import STATIC, Filter, Plugin
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.framework.runtime.own_nodes import NodesOfProfile
from pilotage.scheduling.attempt import Attempt

BY_NAME = "nodes that were left"  # stands for what was said about nodes before any filter was asked


class Objections:
    """For every filter the nodes that it rejects; a node that some filter cannot judge is never suggested."""

    def __init__(self, attempt: Attempt) -> None:
        self.nodes = attempt.cycle.nodes
        self._by_filter: dict[str, Bools] = {}
        self._out: Bools = np.zeros(len(self.nodes), np.bool_)  # out of the question, whatever changes
        self._plugins = attempt.engine.runner.plugin_set.plugins()
        asked = attempt.engine.runner.plugin_set.filter
        self._changing = [plugin.name for plugin in asked if plugin.depends_on is not STATIC]
        for plugin in asked:
            if plugin.name not in attempt.before.skipped:
                self._ask(attempt, plugin)
        self._leave_only(attempt)
        self.count: Ints = np.zeros(len(self.nodes), np.int64)
        for mask in self._by_filter.values():
            self.count += mask

    def alone(self) -> Iterator[tuple[Plugin, Nodes]]:
        """Yield every plugin with the nodes that it alone rejects, most nodes first."""
        alone = (self.count == 1) & ~self._out
        found = [(name, mask & alone) for name, mask in self._by_filter.items()]
        yield from self._largest_first(found)

    def pairs(self) -> Iterator[tuple[Plugin, Plugin, Nodes]]:
        """Yield every two plugins with the nodes that these two alone reject, most nodes first."""
        names, two = list(self._by_filter), (self.count == 2) & ~self._out
        if not two.any():
            return
        places = np.flatnonzero(two)
        codes = np.zeros(len(places), np.int64)
        for number, name in enumerate(names):
            codes |= self._by_filter[name][places].astype(np.int64) << min(number, 62)
        distinct, sizes = np.unique(codes, return_counts=True)
        for place in np.argsort(-sizes, kind="stable").tolist():
            bits = int(distinct[place])
            pair = [name for number, name in enumerate(names) if bits >> number & 1]
            if len(pair) == 2:
                one, other = (self._plugins[name] for name in pair)
                yield one, other, self.nodes.take(places[codes == bits].astype(np.int32))

    def rejecting(self, slot: int) -> list[str]:
        """Return the filters that reject a node."""
        return [name for name, mask in self._by_filter.items() if mask[slot]]

    def open_if_empty(self) -> Bools:
        """Mark the nodes that are rejected only by filters which look at more than the node itself, or by none."""
        return self.open_to(*self._changing)

    def open_to(self, *names: str) -> Bools:
        """Mark the nodes that are rejected by none but these filters."""
        others = self.count.copy()
        for name in names:
            if name in self._by_filter:
                others -= self._by_filter[name]
        found: Bools = (others == 0) & ~self._out
        return found

    def _largest_first(self, found: list[tuple[str, Bools]]) -> Iterator[tuple[Plugin, Nodes]]:
        sized = sorted(((int(np.count_nonzero(mask)), name, mask) for name, mask in found), key=lambda each: -each[0])
        for size, name, mask in sized:
            if size and name in self._plugins:
                yield self._plugins[name], self.nodes.take(mask)

    def _ask(self, attempt: Attempt, plugin: Filter) -> None:
        runner, nodes = attempt.engine.runner, self.nodes
        try:
            mask = runner.filter_nodes(plugin, attempt.cycle, nodes).codes != 0
        except PluginFailed:
            # Perhaps because of a node that an earlier plugin rejects, which it never sees otherwise.
            mask = self._ask_about_the_rest(attempt, plugin)
        if plugin.name == NodesOfProfile.name:
            self._out |= mask
        elif mask.any():
            self._by_filter[plugin.name] = mask

    def _ask_about_the_rest(self, attempt: Attempt, plugin: Filter) -> Bools:
        rejected = np.zeros(len(self.nodes), np.bool_)
        for known in self._by_filter.values():
            rejected |= known
        self._out |= rejected
        mask = np.zeros(len(self.nodes), np.bool_)
        left = self.nodes.take(~self._out)
        if len(left):
            mask[~self._out] = attempt.engine.runner.filter_nodes(plugin, attempt.cycle, left).codes != 0
        return mask

    def _leave_only(self, attempt: Attempt) -> None:
        """Add what was said before any node was evaluated, if no filter says the same."""
        only = attempt.before.only
        if only is None:
            return
        named = [info.slot for name in only if (info := self.nodes.find(name)) is not None]
        mask = np.ones(len(self.nodes), np.bool_)
        mask[named] = False
        name = attempt.before.restricting[0] if attempt.before.restricting else BY_NAME
        self._by_filter[name] = self._by_filter.get(name, np.zeros_like(mask)) | mask
