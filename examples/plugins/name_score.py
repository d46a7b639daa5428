"""The whole file is a plugin: pilotage simulate --plugin-dir examples/plugins -f ..."""

from pilotage.plugin import STATIC, Caching, Score


class NameScore(Score):
    """Prefer nodes by the number at the end of their name: n2 over n1."""

    caching = Caching(STATIC)

    def score(self, cycle, pod, node):
        digits = node.name.removeprefix(node.name.rstrip("0123456789"))
        return min(100, int("0" + digits))
