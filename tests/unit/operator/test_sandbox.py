"""Other people's files are judged in a process of their own, and whatever they do, it answers."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilotage.plugins.catalogue import built_in
from pilotage_operator.sandbox import __main__ as server
from pilotage_operator.sandbox.client import Sandbox, SandboxFailed
from pilotage_operator.sandbox.records import Answer, Question, SourceFile, restored

GOOD = """
from pilotage.framework.api.plugin import STATIC, Score

class Tidy(Score):
    most: int = 10
    depends_on = STATIC

    def score(self, cycle, pod, node):
        return self.most
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    found = Sandbox()
    yield found
    found.close()


def described(sandbox: Sandbox, text: str) -> Answer:
    return sandbox.ask(Question("describe", (SourceFile("mine/a.py", text),)))


def test_a_file_is_asked_for_its_plugins(sandbox: Sandbox) -> None:
    assert described(sandbox, GOOD) == Answer(plugins=("Tidy",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("class A(\n", "mine/a.py:1: syntax error: '(' was never closed", id="a syntax error"),
        pytest.param(
            "x = 1\nimport nowhere",
            "mine/a.py:2: it cannot be imported: ModuleNotFoundError: No module named 'nowhere'",
            id="an import that fails",
        ),
        pytest.param("x = 1", "mine/a.py: no plugin in it", id="no plugin"),
        pytest.param(GOOD.replace("Tidy", "NodeName"), "the plugin NodeName already exists (built in)", id="our name"),
        pytest.param("import sys; sys.exit(3)", "it cannot be imported: SystemExit: 3", id="it exits"),
        pytest.param("raise KeyboardInterrupt", "it cannot be imported: KeyboardInterrupt", id="it interrupts"),
        pytest.param("import os; os._exit(4)", "the process that imported it ended with code 4", id="it really exits"),
        pytest.param("import ctypes; ctypes.string_at(0)", "ended with SIGSEGV", id="it crashes the interpreter"),
        pytest.param("x = [0] * (1 << 29)", "it cannot be imported: MemoryError", id="it eats memory"),
        pytest.param("x = '\0'", "mine/a.py", id="no text"),
        pytest.param("print('x' * 100000)\n" + GOOD, "", id="it talks, which nobody hears"),
        pytest.param("import sys; sys.stdout.buffer.raw.write(b'{}')\n" + GOOD, "", id="it answers by itself"),
    ],
)
def test_what_a_file_does_is_told(sandbox: Sandbox, text: str, problem: str) -> None:
    answer = described(sandbox, text)
    assert problem in answer.problem
    assert answer.plugins == (() if problem else ("Tidy",))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("while True: pass", id="it loops"),
        pytest.param("import time; time.sleep(60)", id="it sleeps"),
        pytest.param("import os\nif os.fork(): os._exit(0)\nimport time; time.sleep(60)", id="its child stays"),
    ],
)
def test_time_is_limited(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS", 0.5)
    found = server._asked(b'{"ask":"describe","files":[{"path":"a.py","text":%s}]}' % _json(text), built_in())
    assert b"did not finish" in found


def _json(text: str) -> bytes:
    return b'"' + text.replace("\n", "\\n").encode() + b'"'


def test_a_file_that_ends_the_sandbox_is_a_failure_of_it_and_the_next_question_is_answered(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxFailed):
        described(sandbox, "import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
    assert described(sandbox, GOOD) == Answer(plugins=("Tidy",))


def test_a_spec_is_judged_with_its_files(sandbox: Sandbox) -> None:
    files = (SourceFile("mine/a.py", GOOD),)
    spec = {"plugins": [{"name": "Tidy", "weight": 2, "args": {"most": 7}}]}
    answer = sandbox.ask(Question("judge", files, "batch", spec))
    assert answer.verdict is not None
    verdict = restored(answer.verdict, "batch", spec)
    assert verdict.complaints == ()
    assert "Tidy" in verdict.points["score"]
    assert verdict.profile["pluginConfig"] == [{"name": "Tidy", "args": {"most": 7}}]
    wrong = {"plugins": [{"name": "Tidy", "args": {"most": "much"}}]}
    answer = sandbox.ask(Question("judge", files, "batch", wrong))
    assert answer.verdict is not None
    assert answer.verdict.complaints[0].message.startswith("spec.plugins[name=Tidy].args.most: ")


def test_the_way_to_the_api_server_is_not_told(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    fresh, told = Sandbox(), tmp_path / "environment"
    try:
        described(fresh, f"import os; open({str(told)!r}, 'w').write(repr(dict(os.environ)))")
    finally:
        fresh.close()
    assert "KUBERNETES" not in told.read_text()
    assert "KUBERNETES_SERVICE_HOST" in os.environ


def test_a_verdict_about_another_scheduler_does_not_count(sandbox: Sandbox) -> None:
    answer = sandbox.ask(Question("judge", (SourceFile("mine/a.py", GOOD),), "batch", {"plugins": [{"name": "Tidy"}]}))
    assert answer.verdict is not None
    with pytest.raises(ValueError, match="not other"):
        restored(answer.verdict, "other", {"plugins": [{"name": "Tidy"}]})
