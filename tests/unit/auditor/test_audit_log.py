import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditor.attempt import attempt_of
from auditor.audit_log import AuditLog


def event(pod: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "stage": "ResponseComplete",
        "verb": "create",
        "user": {"username": "me"},
        "objectRef": {"resource": "pods", "subresource": "binding", "namespace": "default", "name": pod},
        "requestObject": {"metadata": {"uid": f"uid-{pod}"}, "target": {"name": "n1"}},
        "responseStatus": {"code": 201},
        "requestReceivedTimestamp": "2024-01-01T00:00:00.250000Z",
        **more,
    }


def line(pod: str) -> str:
    return json.dumps(event(pod)) + "\n"


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def truncate(path: Path, text: str) -> None:
    path.write_text(text)


def rotated(path: Path) -> Path:
    return path.rename(path.with_suffix(".1"))


async def pods(log: AuditLog) -> list[str]:
    return [attempt.pod for attempt in await log.read()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def log(path: Path) -> Iterator[AuditLog]:
    with contextlib.closing(AuditLog(path)) as log:
        yield log


async def test_only_what_comes_after_the_start_is_read(path: Path, log: AuditLog) -> None:
    append(path, line("old"))
    await log.start()
    assert await pods(log) == []
    append(path, line("a") + line("b"))
    assert await pods(log) == ["a", "b"]
    assert await pods(log) == []


async def test_a_file_that_appears_later_is_read_from_its_beginning(path: Path, log: AuditLog) -> None:
    await log.start()
    assert await pods(log) == []
    append(path, line("a"))
    assert await pods(log) == ["a"]


async def test_half_a_line_waits_for_its_other_half(path: Path, log: AuditLog) -> None:
    await log.start()
    append(path, line("a")[:40])
    assert await pods(log) == []
    append(path, line("a")[40:] + line("b"))
    assert await pods(log) == ["a", "b"]
    assert log.unreadable == 0


async def test_a_line_that_was_being_written_at_the_start_is_skipped(path: Path, log: AuditLog) -> None:
    append(path, line("old")[:40])
    await log.start()
    append(path, line("old")[40:] + line("a"))
    assert await pods(log) == ["a"]
    assert log.unreadable == 0


async def test_rotation_loses_nothing(path: Path, log: AuditLog) -> None:
    await log.start()
    append(path, line("a"))
    assert await pods(log) == ["a"]
    append(path, line("b"))
    append(rotated(path), line("c"))
    assert await pods(log) == ["b", "c"]
    append(path, line("d"))
    assert await pods(log) == ["d"]


async def test_truncation_starts_anew(path: Path, log: AuditLog) -> None:
    append(path, line("old") * 3)
    await log.start()
    truncate(path, line("a"))
    assert await pods(log) == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("not json", id="no JSON"),
        pytest.param('{"half": ', id="half of an object"),
        pytest.param("[]", id="no object"),
        pytest.param("null", id="nothing"),
        pytest.param('{"stage": "ResponseComplete", "verb": "create", "objectRef": 5}', id="no audit event"),
        pytest.param("[" * 100_000, id="nested without end"),
    ],
)
async def test_a_line_that_cannot_be_read_is_counted(path: Path, log: AuditLog, text: str) -> None:
    await log.start()
    append(path, f"{text}\n{line('a')}")
    assert await pods(log) == ["a"]
    assert log.unreadable == 1


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"stage": "RequestReceived"}, id="not yet answered"),
        pytest.param({"verb": "get"}, id="no creation"),
        pytest.param({"objectRef": {"resource": "pods", "subresource": "eviction"}}, id="another subresource"),
        pytest.param({"requestURI": "/api/v1/namespaces/default/pods/a/binding?dryRun=All"}, id="a dry run"),
    ],
)
def test_what_is_no_binding(changed: dict[str, Any]) -> None:
    assert attempt_of(event(**changed)) is None


def test_a_binding_is_decoded() -> None:
    attempt = attempt_of(event(auditID="x"))
    assert attempt
    assert (attempt.user, attempt.namespace, attempt.pod, attempt.uid) == ("me", "default", "a", "uid-a")
    assert (attempt.node, attempt.code, attempt.received, attempt.audit_id) == ("n1", 201, 1704067200.25, "x")


def test_an_impersonated_user_is_the_binder() -> None:
    attempt = attempt_of(event(impersonatedUser={"username": "rival"}))
    assert attempt
    assert attempt.user == "rival"


def test_the_old_spelling_of_a_binding_is_understood() -> None:
    asked = {"metadata": {"name": "b"}, "target": {"name": "n1"}}
    attempt = attempt_of(event(objectRef={"resource": "bindings", "namespace": "default"}, requestObject=asked))
    assert attempt
    assert (attempt.pod, attempt.uid) == ("b", "")
