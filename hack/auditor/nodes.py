"""The nodes, with their recent versions."""

from auditor.node import Node

KEPT_VERSIONS = 600.0  # seconds; longer than any arrival stays in doubt


class Nodes:
    """Every node's latest version and the versions it replaced."""

    def __init__(self) -> None:
        self.current: dict[str, Node] = {}
        self._past: dict[str, list[tuple[float, Node]]] = {}

    def see(self, node: Node, now: float) -> bool:
        """Record a node's version, and return whether anything that matters changed."""
        old = self.current.get(node.name)
        if old == node:
            return False
        if old:
            self._keep(old, now)
        self.current[node.name] = node
        return True

    def lose(self, name: str, now: float) -> bool:
        """Record that a node is gone, and return whether that is news."""
        old = self.current.pop(name, None)
        if old:
            self._keep(old, now)
        return old is not None

    def versions(self, name: str, since: float) -> list[Node]:
        """Return the versions of a node that were in force at some time since then, the latest first."""
        past = [node for until, node in reversed(self._past.get(name, ())) if until >= since]
        latest = self.current.get(name)
        return [latest, *past] if latest else past

    def _keep(self, node: Node, now: float) -> None:
        recent = [(until, past) for until, past in self._past.get(node.name, ()) if until >= now - KEPT_VERSIONS]
        self._past[node.name] = [*recent, (now, node)]
