"""Validates a spec with its plugin files: built-in plugins in this process, custom ones in the sandbox."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar

from pilotage.config.handshake import PluginFile
from pilotage.scheduler_profiles.hashes import spec_hash
from pilotage.scheduler_profiles.judge import BROKEN_PLUGIN, Complaint, Judge, Verdict
from pilotage.scheduler_profiles.wording import shortened
from pilotage_operator.profiles.plugin_library import Library, library
from pilotage_operator.sandbox.client import Asks, SandboxFailed
from pilotage_operator.sandbox.records import Answer, Question, SourceFile, VerdictRecord, restored

_REMEMBERED = 1024
_LOOKING_SECONDS = 10.0  # for new files; the rest is inspected in the next round
_ASK_AGAIN_AFTER = 60.0  # seconds after the sandbox failed on a file, which may not be the file's fault
Key = TypeVar("Key")
Value = TypeVar("Value")


class UnitJudge:
    """Validates units; verdicts are cached."""

    def __init__(self, plain: Judge, sandbox: Asks | None = None) -> None:
        self.plain = plain  # for specs without plugin files
        self._sandbox = sandbox
        self._described: OrderedDict[PluginFile, tuple[tuple[str, ...], str]] = OrderedDict()
        self._ask_again_at: dict[PluginFile, float] = {}
        self._look_until = 0.0
        self._judged: OrderedDict[tuple[str, str], Verdict] = OrderedDict()

    def library(self, files: Sequence[PluginFile]) -> Library:
        """Inspect plugin files, with a time limit so that slow ones do not block a round."""
        self._look_until = monotonic() + _LOOKING_SECONDS
        return library(files, self._describe)

    def judge(
        self, name: str, spec: Any, files: Sequence[PluginFile] = (), earlier: VerdictRecord | None = None
    ) -> Verdict:
        """Return the verdict on a spec with these files.

        A unit that ran has an earlier verdict, which stands if the sandbox cannot repeat it now: a running unit is not
        stopped because a file takes longer to import this time.
        """
        if not files:
            return self.plain.judge(name, spec)
        try:
            key = name, spec_hash(spec, files)
        except RecursionError:
            return self.plain.judge(name, spec)  # which reports the error
        if key not in self._judged:
            verdict = self._in_the_sandbox(name, spec, files)
            if earlier is not None and any(each.reason == BROKEN_PLUGIN for each in verdict.complaints):
                verdict = restored(earlier, name, spec)
            _remember(self._judged, key, verdict)
        self._judged.move_to_end(key)
        return self._judged[key]

    def _in_the_sandbox(self, name: str, spec: Any, files: Sequence[PluginFile]) -> Verdict:
        try:
            answer = self._ask(Question("judge", _sources(files), name, spec, self.plain.rules))
            if answer.verdict is not None:
                return restored(answer.verdict, name, spec)
            problem = answer.problem
        except (SandboxFailed, ValueError) as error:
            problem = f"it cannot be validated: {error}"
        paths = [file.path for file in files]
        text = problem if problem.startswith(tuple(paths)) else f"{', '.join(paths)}: {problem}"
        scheduler = spec.get("schedulerName") if isinstance(spec, Mapping) else None
        return Verdict(scheduler if isinstance(scheduler, str) else name, (Complaint(BROKEN_PLUGIN, shortened(text)),))

    def _describe(self, file: PluginFile) -> tuple[tuple[str, ...], str]:
        now = monotonic()
        if file not in self._described or now >= self._ask_again_at.get(file, now + 1):
            if now > self._look_until:
                return (), "it has not been validated yet, because other plugin files take long"
            _remember(self._described, file, self._look_into(file))
        self._described.move_to_end(file)
        return self._described[file]

    def _look_into(self, file: PluginFile) -> tuple[tuple[str, ...], str]:
        self._ask_again_at.pop(file, None)
        try:
            answer = self._ask(Question("describe", _sources([file])))
        except SandboxFailed as error:
            self._ask_again_at[file] = monotonic() + _ASK_AGAIN_AFTER
            return (), f"it cannot be validated: {error}"
        return answer.plugins, answer.problem

    def _ask(self, question: Question) -> Answer:
        if self._sandbox is None:
            raise SandboxFailed("there is no sandbox")
        try:
            return self._sandbox.ask(question)
        except SandboxFailed:
            return self._sandbox.ask(question)  # a retry, since it may have been killed


def _sources(files: Sequence[PluginFile]) -> tuple[SourceFile, ...]:
    return tuple(SourceFile(file.path, file.text) for file in files)


def _remember(memory: "OrderedDict[Key, Value]", key: Key, value: Value) -> None:
    memory[key] = value
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)
