"""For tests: programs that are written down instead of run."""

from collections.abc import Callable, Mapping, Sequence

from images.commands import Progress

Effect = Callable[[Sequence[str]], None]


class RecordedCommands:
    """Notes what it is asked to run, and answers from a table of what commands contain."""

    def __init__(self, answers: Mapping[str, str] | None = None, effect: Effect | None = None) -> None:
        self.answers = dict(answers or {})
        self.ran: list[list[str]] = []
        self._effect = effect

    def run(self, title: str, argv: Sequence[str], progress: Progress | None = None) -> None:
        """Note it; the effect stands for what the program would do."""
        self.ran.append(list(argv))
        if self._effect:
            self._effect(argv)

    def read(self, argv: Sequence[str], seconds: float = 60) -> str | None:
        """The answer whose key is part of the command; None, as of a failure, if there is none."""
        line = " ".join(argv)
        return next((answer for key, answer in self.answers.items() if key in line), None)
