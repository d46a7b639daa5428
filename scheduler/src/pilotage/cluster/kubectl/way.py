"""Which cluster is meant, and as whom."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """Which cluster is meant, and as whom: the flags of kubectl that say so."""

    kubeconfig: str = ""
    context: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()

    @property
    def flags(self) -> list[str]:
        """Return them as kubectl takes them."""
        named = {"--kubeconfig": self.kubeconfig, "--context": self.context, "--as": self.user}
        return [
            *(f"{flag}={value}" for flag, value in named.items() if value),
            *(f"--as-group={group}" for group in self.groups),
        ]
