"""Notes about a conversion: fields without an equivalent, and errors."""

from dataclasses import dataclass, field


@dataclass
class Notes:
    """Notes about one input, in order."""

    source: str
    told: list[str] = field(default_factory=list)  # fields that were left out, or work differently
    wrong: list[str] = field(default_factory=list)  # why the result cannot run unchanged

    def note(self, text: str, profile: str = "") -> None:
        """Add a note, once."""
        self._add(self.told, text, profile)

    def error(self, text: str, profile: str = "") -> None:
        """Add an error, once."""
        self._add(self.wrong, text, profile)

    def _add(self, to: list[str], text: str, profile: str) -> None:
        sentence = f"{self.source}: {profile}: {text}" if profile else f"{self.source}: {text}"
        if sentence not in to:
            to.append(sentence)
