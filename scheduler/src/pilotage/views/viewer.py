"""What a user may see, and texts cut accordingly."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pilotage.views.state import State

_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?")
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_A_NODE = re.compile(r"\bnode \"", re.IGNORECASE)  # a name follows, perhaps of a deleted node
_NO_PODS = frozenset({"affinity/selector"})  # words of our own messages that look like namespace/name


@dataclass(frozen=True)
class Viewer:
    """What a user may see; users with equal viewers share answers."""

    everywhere: bool = False  # may list the pods of all namespaces
    namespaces: frozenset[str] = frozenset()  # else those of these
    nodes: bool = False  # may list nodes

    def sees(self, namespace: str) -> bool:
        """Return whether the pods of a namespace are visible."""
        return self.everywhere or namespace in self.namespaces


EVERYTHING = Viewer(everywhere=True, nodes=True)


class Words:
    """Cuts texts before the first name that the viewer may not see."""

    def __init__(self, state: State, viewer: Viewer) -> None:
        self._state, self._viewer = state, viewer
        self._sees_all = viewer.everywhere and viewer.nodes
        self._known: dict[str, str] = {}

    @property
    def names_nodes(self) -> bool:
        """Return whether the viewer may see names of nodes."""
        return self._viewer.nodes

    def sees(self, namespace: str) -> bool:
        """Return whether the viewer may see the pods of a namespace."""
        return self._viewer.sees(namespace)

    def __call__(self, text: str) -> str:
        """Return a text, cut before the first foreign name."""
        if self._sees_all:
            return text
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._cut(text)
        return found

    def names_foreign(self, text: str) -> bool:
        """Return whether a text contains a name that the viewer may not see."""
        return self(text) != text

    def all(self, texts: Iterable[str]) -> list[str]:
        """Return several texts, each cut."""
        return [self(text) for text in texts]

    def _cut(self, text: str) -> str:
        end = len(text)
        if not self._viewer.nodes and (named := _A_NODE.search(text)) is not None:
            end = named.end()
        for word in _WORD.finditer(text, 0, end):
            if self._is_foreign(word.group()):
                end = word.start()
                break
        return text if end == len(text) else text[:end].rstrip(" \"'`([{:,") + " ..."

    def _is_foreign(self, word: str) -> bool:
        if not self._viewer.nodes and self._state.cache.find_node(word) is not None:
            return True
        namespace, slash, name = word.partition("/")
        if not slash or "/" in name or word in _NO_PODS or not _LABEL.fullmatch(namespace):
            return False
        if self._viewer.sees(namespace):
            return False
        # 0/14 is a number of nodes, unless a pod has that name.
        return not (namespace.isdigit() and name.isdigit()) or word in self._state.pods()
