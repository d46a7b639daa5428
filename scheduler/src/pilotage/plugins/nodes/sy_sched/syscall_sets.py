"""The allowed system calls of pods as bit sets: each call is a bit of an integer."""

import logging
from collections.abc import Iterable

from pilotage.framework.api.objects import Objects
from pilotage.kinds.seccomp_profile import SeccompProfile, profile_at
from pilotage.model.pod import Pod, PodShape

log = logging.getLogger(__name__)

Calls = int  # a set
Paths = tuple[str, ...]
Profile = tuple[str, str]  # namespace and name

ANNOTATION = "seccomp.security.alpha.kubernetes.io"
MOST_REMEMBERED = 20_000  # combinations of paths, which pods can name freely


class SyscallSets:
    """The sets of pods, cached until a profile changes."""

    def __init__(self, objects: Objects, default: Profile, told: set[Profile]) -> None:
        self._objects = objects
        self._default = default
        self._told = told  # missing profiles, already logged
        self._bits: dict[str, int] = {}
        self._known: dict[Paths, Calls] = {}

    def of_pod(self, pod: Pod) -> Calls:
        """Return the calls that any of the pod's profiles permits; if there are none, those of the default profile."""
        paths = paths_of(pod)
        known = self._known.get(paths)
        if known is None:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            named = (profile_at(path) for path in paths)
            known = self._known[paths] = self._union(filter(None, named)) or self._union([self._default])
        return known

    def _union(self, profiles: Iterable[Profile]) -> Calls:
        calls = 0
        for namespace, name in profiles:
            calls |= self._of_profile(namespace, name)
        return calls

    def _of_profile(self, namespace: str, name: str) -> Calls:
        """Return the calls that a profile and its base profiles permit."""
        calls, seen = 0, set()
        while name and name not in seen:
            seen.add(name)  # ends cycles of base profiles
            profile = self._objects.get(SeccompProfile, name, namespace)
            if profile is None:
                self._tell((namespace, name))
                break
            for call in profile.permitted():
                calls |= 1 << self._bits.setdefault(call, len(self._bits))
            name = profile.spec.base_profile_name
        return calls

    def _tell(self, missing: Profile) -> None:
        if missing not in self._told and len(self._told) < MOST_REMEMBERED:
            self._told.add(missing)
            log.warning("SeccompProfile %.80s/%.80s does not exist and counts as empty", *missing)


def paths_of(pod: Pod) -> Paths:
    """Return the paths of all profiles that a pod names, in its spec and in legacy annotations."""
    paths = pod.shape.remember("paths of seccomp profiles", _paths_in_spec)
    if pod.annotations:
        paths += tuple(sorted(path for key, path in pod.annotations.items() if ANNOTATION in key))
    return paths


def _paths_in_spec(shape: PodShape) -> Paths:
    contexts = (shape.spec.security_context, *(each.security_context for each in shape.spec.containers))
    references = (context.seccomp_profile for context in contexts if context is not None)
    return tuple(each.localhost_profile for each in references if each is not None and each.type == "Localhost")
