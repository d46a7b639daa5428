"""The cluster to use, and the user to act as."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """The cluster to use, and the user to act as: flags of kubectl."""

    kubeconfig: str = ""
    context: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()

    @property
    def flags(self) -> list[str]:
        """Return the flags for kubectl."""
        named = {"--kubeconfig": self.kubeconfig, "--context": self.context, "--as": self.user}
        return [
            *(f"{flag}={value}" for flag, value in named.items() if value),
            *(f"--as-group={group}" for group in self.groups),
        ]
