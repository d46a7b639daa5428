"""Expands the plugins of a profile to the plugins that run at each extension point.

user's sets + default multiPoint  --merged-->  a profile as kube-scheduler writes it out
point's own list + multiPoint     --expand-->  the ordered plugins of each point, and their weights
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.defaults import DEFAULT_MULTI_POINT
from pilotage.config.types import Plugin, Plugins, PluginSet, Profile
from pilotage.model.go_text import quoted

ALL = "*"
WEIGHED = (ExtensionPoint.SCORE, ExtensionPoint.PLACEMENT_SCORE)
MAX_SCORE = 100
_LARGEST_TOTAL = (1 << 63) - 1


@dataclass(frozen=True)
class Complaint:
    """Why plugins cannot be combined, with kube-scheduler's message; `plugin` is the plugin concerned."""

    text: str
    point: ExtensionPoint | None = None
    plugin: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Expansion:
    """The plugins of one profile in the order of their calls; incomplete if there are complaints."""

    points: Mapping[ExtensionPoint, tuple[str, ...]]
    weights: Mapping[ExtensionPoint, Mapping[str, int]]  # of the two points that score
    complaints: tuple[Complaint, ...] = ()


def merged(plugins: Plugins) -> Plugins:
    """Merge the user's plugin sets with the default ones, which are all in multiPoint."""
    sets: dict[str, PluginSet] = {
        point.name.lower(): _merge(PluginSet(), plugins.at(point)) for point in ExtensionPoint
    }
    return plugins.model_copy(update={**sets, "multi_point": _merge(DEFAULT_MULTI_POINT, plugins.multi_point)})


def extended(plugins: Plugins, also: Iterable[str]) -> Plugins:
    """Enable more plugins at all of their points, except those that the user names anywhere, even to disable them."""
    sets = [plugins.multi_point, *(plugins.at(point) for point in ExtensionPoint)]
    named = {plugin.name for each in sets for plugin in (*each.enabled, *each.disabled)}
    added = tuple(Plugin(name=name) for name in also if name not in named)
    everywhere = plugins.multi_point.model_copy(update={"enabled": (*plugins.multi_point.enabled, *added)})
    return plugins.model_copy(update={"multi_point": everywhere})


def expand(profile: Profile, catalogue: Catalogue) -> Expansion:
    """Return the plugins of each point; the profile's sets are merged already."""
    work = _Work(profile.plugins, catalogue)
    own = {point: work.named_at(point) for point in ExtensionPoint}  # 1. the point's own list
    points = {point: work.with_multi_point(point, own[point]) for point in ExtensionPoint}  # 2. multiPoint
    weights = {point: work.weights(point) for point in WEIGHED}
    if not work.complaints:  # 3. rules for all profiles
        work.complaints += [*_missing(profile.scheduler_name, points), *_overflows(weights)]
    running = {point: {name: weights[point][name] for name in points[point]} for point in WEIGHED}
    return Expansion(points, running, tuple(work.complaints))


def _merge(default: PluginSet, user: PluginSet) -> PluginSet:
    """Replace defaults that the user names in place, drop disabled ones, and append the rest."""
    # If a name is listed twice, the last one replaces the default and the first one stays; `expand` reports it.
    places = {plugin.name: place for place, plugin in enumerate(user.enabled)}
    off = user.disabled_names
    kept = [plugin for plugin in default.enabled if not {plugin.name, ALL} & off]
    replaced = {places[plugin.name] for plugin in kept if plugin.name in places}
    first = [user.enabled[places[plugin.name]] if plugin.name in places else plugin for plugin in kept]
    rest = [plugin for place, plugin in enumerate(user.enabled) if place not in replaced]
    disabled = tuple(Plugin(name=plugin.name) for plugin in user.disabled)
    return PluginSet(enabled=(*first, *rest), disabled=disabled)


@dataclass
class _Work:
    plugins: Plugins
    catalogue: Catalogue
    complaints: list[Complaint] = field(default_factory=list)
    told: set[str] = field(default_factory=set)

    def named_at(self, point: ExtensionPoint) -> tuple[str, ...]:
        """The plugins of the point's own list; all must implement the point, and none may be listed twice."""
        taken: dict[str, None] = {}
        for plugin in self.plugins.at(point).enabled:
            if self.refused(plugin.name, point) or self.repeated(plugin.name, point, taken):
                continue
            taken[plugin.name] = None
        return tuple(taken)

    def with_multi_point(self, point: ExtensionPoint, own: tuple[str, ...]) -> tuple[str, ...]:
        """The point's plugins that multiPoint also has, then the others of multiPoint, then the point's others."""
        if ALL in self.plugins.at(point).disabled_names:
            return own
        willing = self.willing(point)
        named, overridable = set(own), set(willing)
        everywhere: dict[str, None] = {}
        for name in willing:
            if name not in named and not self.repeated(name, point, everywhere):
                everywhere[name] = None
        overriding = [name for name in own if name in overridable]
        others = [name for name in own if name not in overridable]
        return (*overriding, *everywhere, *others)

    def willing(self, point: ExtensionPoint) -> list[str]:
        """The plugins of multiPoint that implement the point and are not disabled there."""
        names = [plugin.name for plugin in self.plugins.multi_point.enabled]
        for name in names:
            self.unknown(name, point)
        off = self.plugins.at(point).disabled_names
        found = [name for name in names if self.implements(name, point) and name not in off]
        if point is not ExtensionPoint.QUEUE_SORT:
            return found
        # There can be only one order: of several plugins of multiPoint that can sort, the first one does.
        return [name for name in found if name == found[0] or len(self.catalogue.points(name)) == 1]

    def weights(self, point: ExtensionPoint) -> dict[str, int]:
        """The weight of each scoring plugin; the point's own entry takes precedence over multiPoint."""
        found: dict[str, int] = {}
        for plugin in (*self.plugins.at(point).enabled, *self.plugins.multi_point.enabled):
            if self.implements(plugin.name, point):
                found.setdefault(plugin.name, plugin.weight or 1)
        return found

    def implements(self, name: str, point: ExtensionPoint) -> bool:
        return name in self.catalogue.names() and point in self.catalogue.points(name)

    def refused(self, name: str, point: ExtensionPoint) -> bool:
        if self.unknown(name, point):
            return True
        if not self.implements(name, point):
            text = f"plugin {quoted(name)} does not extend {point.interface} plugin"
            self.complaints.append(Complaint(text, point, name))
            return True
        return False

    def unknown(self, name: str, point: ExtensionPoint) -> bool:
        if name in self.catalogue.names():
            return False
        # Reported once; kube-scheduler also stops at the first one.
        if name not in self.told:
            self.complaints.append(Complaint(f"{point.interface} {quoted(name)} does not exist", point, name))
            self.told.add(name)
        return True

    def repeated(self, name: str, point: ExtensionPoint, taken: Mapping[str, None]) -> bool:
        if name not in taken:
            return False
        self.complaints.append(
            Complaint(f'plugin {quoted(name)} already registered as "{point.interface}"', point, name)
        )
        return True


def _missing(scheduler: str, points: Mapping[ExtensionPoint, tuple[str, ...]]) -> list[Complaint]:
    sorters = points[ExtensionPoint.QUEUE_SORT]
    of_profile = f"for profile with scheduler name {quoted(scheduler)}"
    checks = [
        (
            len(sorters) == 1,
            ExtensionPoint.QUEUE_SORT,
            f"only one queue sort plugin required {of_profile}, but got {len(sorters)}",
            several_sort(sorters) if sorters else "",
        ),
        (
            bool(points[ExtensionPoint.BIND]),
            ExtensionPoint.BIND,
            f"at least one bind plugin is needed {of_profile}",
            "",
        ),
        (
            len(points[ExtensionPoint.PLACEMENT_GENERATE]) <= 1,
            ExtensionPoint.PLACEMENT_GENERATE,
            f"at most one placement generate plugin is allowed {of_profile}",
            "",
        ),
    ]
    return [Complaint(text, point, hint=hint) for holds, point, text, hint in checks if not holds]


def several_sort(names: Iterable[str]) -> str:
    """The hint for several plugins that sort the queue; "" for one."""
    *others, last = names
    return f"{', '.join(others)} and {last} sort it; leave one of them" if others else ""


def _overflows(weights: Mapping[ExtensionPoint, Mapping[str, int]]) -> list[Complaint]:
    titles = {ExtensionPoint.SCORE: "score plugins", ExtensionPoint.PLACEMENT_SCORE: "placement score plugins"}
    return [
        Complaint(f"{titles[point]}: total score of Score plugins could overflow", point)
        for point in WEIGHED
        if _overflow(weights[point].values())
    ]


def _overflow(weights: Iterable[int]) -> bool:
    total = 0
    for weight in weights:
        # In 64 bits the remainder is negative if the total is below zero: the plugin after a negative weight fails.
        if total < 0 or weight * MAX_SCORE > _LARGEST_TOTAL - total:
            return True
        total += weight * MAX_SCORE
    return False
