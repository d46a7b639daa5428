"""The plugins of a profile, in the order in which each extension point calls them."""

from dataclasses import dataclass, field

from pilotage.framework.api.plugin import (
    Bind,
    Filter,
    Permit,
    Plugin,
    PostBind,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    PreScore,
    QueueSort,
    Reserve,
    Score,
)


@dataclass(frozen=True)
class PluginSet:
    """The plugins of each extension point; Score plugins with their weights."""

    pre_enqueue: tuple[PreEnqueue, ...] = ()
    queue_sort: tuple[QueueSort, ...] = ()
    pre_filter: tuple[PreFilter, ...] = ()
    filter: tuple[Filter, ...] = ()
    post_filter: tuple[PostFilter, ...] = ()
    pre_score: tuple[PreScore, ...] = ()
    score: tuple[Score, ...] = ()
    reserve: tuple[Reserve, ...] = ()
    permit: tuple[Permit, ...] = ()
    pre_bind: tuple[PreBind, ...] = ()
    bind: tuple[Bind, ...] = ()
    post_bind: tuple[PostBind, ...] = ()
    weights: dict[str, int] = field(default_factory=dict)

    def plugins(self) -> dict[str, Plugin]:
        """Return every plugin once, by name."""
        prefer: tuple[Plugin, ...] = (*self.queue_sort, *self.post_filter, *self.pre_score, *self.score)
        bind: tuple[Plugin, ...] = (*self.pre_bind, *self.bind, *self.post_bind)
        return self.rejecting() | {plugin.name: plugin for plugin in (*prefer, *bind)}

    def rejecting(self) -> dict[str, Plugin]:
        """Return the plugins whose rejections keep a pod in the queue, by name."""
        points = (self.pre_enqueue, self.pre_filter, self.filter, self.reserve, self.permit)
        return {plugin.name: plugin for point in points for plugin in point}
