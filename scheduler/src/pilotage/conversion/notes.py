"""Notes about a conversion: everything without an equivalent, and what is wrong."""

from dataclasses import dataclass, field


@dataclass
class Notes:
    """Sentences about one input, in the order in which they came up."""

    source: str
    told: list[str] = field(default_factory=list)  # what was left out, or works differently
    wrong: list[str] = field(default_factory=list)  # why the result does not run as it is

    def tell(self, text: str, profile: str = "") -> None:
        """Add a sentence, once."""
        self._add(self.told, text, profile)

    def complain(self, text: str, profile: str = "") -> None:
        """Add what is wrong, once."""
        self._add(self.wrong, text, profile)

    def _add(self, to: list[str], text: str, profile: str) -> None:
        sentence = f"{self.source}: {profile}: {text}" if profile else f"{self.source}: {text}"
        if sentence not in to:
            to.append(sentence)
