"""What to build, and the parameters of a build engine."""

from dataclasses import dataclass, field
from pathlib import Path

# Carried by every image we make: the fingerprint of what it was made from.
FINGERPRINT_LABEL = "dev.pilotage.inputs"
# The default base images of the Dockerfiles.
DEFAULT_BASE = "python:3.13-slim"


@dataclass(frozen=True)
class Wishes:
    """The choices of the person who builds."""

    tag: str
    base: str | None = None
    platforms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Order:
    """One image to build, with everything an engine must know."""

    image: str
    context: Path
    dockerfile: Path
    fingerprint: str
    platforms: tuple[str, ...] = ()
    # A value of None is taken from the environment, so that it shows in no list of processes.
    arguments: dict[str, str | None] = field(default_factory=dict)
    certificates: Path | None = None

    def flags(self) -> list[str]:
        """The options that docker and buildah spell alike."""
        flags = [f"--label={FINGERPRINT_LABEL}={self.fingerprint}", f"--file={self.dockerfile}"]
        for name, value in self.arguments.items():
            flags.append(f"--build-arg={name}" if value is None else f"--build-arg={name}={value}")
        if self.certificates:
            flags.append(f"--secret=id=ca,src={self.certificates}")
        return flags


@dataclass(frozen=True)
class Facts:
    """What an engine knows of an image it holds."""

    image_id: str
    fingerprint: str | None
    created: str = ""  # as RFC 3339 has it, so that the later one is the greater one
