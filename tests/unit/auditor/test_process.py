"""The auditor as a process, against an API server that a test holds in its hand."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from auditor.__main__ import main
from auditor.fake_api import FakeApi, serving
from auditor.running import AuditorFailed, RunningAuditor
from auditor.testing import node, pod


def kubeconfig(folder: Path, url: str) -> Path:
    content = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


def log(folder: Path, name: str, to: str = "n1", by: str = "me", code: int = 201) -> None:
    event = {
        "stage": "ResponseComplete",
        "verb": "create",
        "user": {"username": by},
        "objectRef": {"resource": "pods", "subresource": "binding", "namespace": "default", "name": name},
        "requestObject": {"metadata": {"uid": f"uid-{name}"}, "target": {"name": to}},
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": datetime.now(UTC).isoformat(),
    }
    with (folder / "audit.log").open("a") as file:
        file.write(json.dumps(event) + "\n")


@pytest.fixture
async def api() -> FakeApi:
    api = FakeApi()
    await api.put(node())
    return api


class Audited:
    """A running auditor whose blocking parts happen in a thread, since the API it watches lives in this loop."""

    def __init__(self, folder: Path, url: str, **options: Any) -> None:
        self.running = RunningAuditor(kubeconfig(folder, url), folder / "audit.log", folder, **options)

    async def __aenter__(self) -> RunningAuditor:
        return await asyncio.to_thread(self.running.__enter__)

    async def __aexit__(self, *error: Any) -> None:
        await asyncio.to_thread(self.running.__exit__, *error)


async def bound(api: FakeApi, folder: Path, name: str, to: str = "n1", by: str = "me", **more: Any) -> None:
    await api.put(pod(name, **more))
    await asyncio.sleep(0.05)
    log(folder, name, to, by)
    await api.put(pod(name, to, **more))


async def until_said(running: RunningAuditor, *rules: str) -> None:
    """Wait until the auditor has told these violations."""
    async with asyncio.timeout(60):
        while not all(rule in running.output for rule in rules):  # noqa: ASYNC110 - nobody tells a test
            await asyncio.sleep(0.05)


async def test_a_clean_run(api: FakeApi, tmp_path: Path) -> None:
    async with serving(api) as url, Audited(tmp_path, url, serves={"me": ["default-scheduler"]}) as running:
        await bound(api, tmp_path, "a")
    report = running.report
    assert (running.exit_code, report["clean"], report["finished"], report["violations"]) == (0, True, True, [])
    assert (report["seen"]["pods"], report["seen"]["bindings"], report["rulesOff"]) == (1, 1, {})
    assert running.output.splitlines()[-1].startswith("auditor: clean (1 pods, 1 bindings")


async def test_a_run_with_violations(api: FakeApi, tmp_path: Path) -> None:
    async with serving(api) as url, Audited(tmp_path, url, serves={"me": ["*"]}, wait_limit=1, grace=0) as running:
        await api.put(node("n2"))
        await api.put(pod("waits"))
        await bound(api, tmp_path, "large", cpu="3500m")
        await bound(api, tmp_path, "foreign", by="rival", cpu="0")
        await until_said(running, "waits-though-fits", "overcommit", "foreign-binder")
    assert running.exit_code == 1
    assert sorted(running.violations) == ["foreign-binder", "overcommit", "waits-though-fits"]
    overcommit = next(found for found in running.report["violations"] if found["rule"] == "overcommit")
    assert overcommit["message"] == "cpu: 3500m of 2000m"
    assert (overcommit["pod"], overcommit["uid"], overcommit["node"]) == ("large", "uid-large", "n1")
    assert "overcommit: pod default/large on n1" in running.output


async def test_it_sees_what_happened_just_before_it_was_stopped(api: FakeApi, tmp_path: Path) -> None:
    async with serving(api) as url, Audited(tmp_path, url) as running:
        await bound(api, tmp_path, "a", cpu="9")
    assert running.violations == ["overcommit"]


async def test_only_the_named_namespaces_are_reported(api: FakeApi, tmp_path: Path) -> None:
    async with serving(api) as url, Audited(tmp_path, url, namespaces=["other"]) as running:
        await bound(api, tmp_path, "a", cpu="9")
    assert running.violations == []


async def test_it_survives_a_restart_of_the_api_server(api: FakeApi, tmp_path: Path) -> None:
    async with serving(api) as url:
        port = int(url.rpartition(":")[2])
        audited = Audited(tmp_path, url)
        running = await audited.__aenter__()
    await asyncio.sleep(0.5)
    async with serving(api, port):
        await bound(api, tmp_path, "a", cpu="9")
        await audited.__aexit__(None, None, None)
    assert running.violations == ["overcommit"]


async def test_a_killed_auditor_does_not_read_as_clean(api: FakeApi, tmp_path: Path) -> None:
    async with serving(api) as url:
        audited = Audited(tmp_path, url, grace=0)
        running = await audited.__aenter__()
        await bound(api, tmp_path, "a", cpu="9")
        await until_said(running, "overcommit")
        assert running._process
        os.kill(running._process.pid, signal.SIGKILL)
        with pytest.raises(AuditorFailed):
            await asyncio.to_thread(running.stop)
    assert (running.report["clean"], running.report["finished"]) == (False, False)
    assert running.violations == ["overcommit"]


async def test_a_log_that_tells_nothing_is_no_proof(api: FakeApi, tmp_path: Path) -> None:
    async with serving(api) as url:
        audited = Audited(tmp_path, url)
        await audited.__aenter__()
        await api.put(pod("a"))
        await asyncio.sleep(0.2)
        await api.put(pod("a", "n1"))
        with pytest.raises(AuditorFailed, match="tells of none of it; make it the API server's --audit-log-path"):
            await audited.__aexit__(None, None, None)


async def test_who_may_not_watch_is_told_at_once(api: FakeApi, tmp_path: Path) -> None:
    api.refusal = 401
    async with serving(api) as url:
        with pytest.raises(AuditorFailed, match="401 Unauthorized; use a kubeconfig"):
            async with Audited(tmp_path, url):
                pass


def arguments(folder: Path) -> dict[str, str]:
    return {
        "--kubeconfig": str(kubeconfig(folder, "http://127.0.0.1:1")),
        "--audit-log": str(folder / "audit.log"),
        "--report": str(folder / "report.json"),
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda f: {"--kubeconfig": f"{f}/none"}, "cannot read the kubeconfig", id="no kubeconfig"),
        pytest.param(lambda f: {"--report": f"{f}/no/report"}, "create it or name another file", id="no folder"),
        pytest.param(lambda f: {"--serves": "me"}, "write USER=NAME[,NAME...]", id="an unclear declaration"),
        pytest.param(lambda f: {"--grace": "-1"}, "--grace", id="a negative time"),
    ],
)
def test_bad_input(change: Callable[[Path], dict[str, str]], message: str, tmp_path: Path) -> None:
    given = arguments(tmp_path) | change(tmp_path)
    done = CliRunner().invoke(main, [f"{name}={value}" for name, value in given.items()])
    assert done.exit_code == 2
    assert message in done.stderr


def test_an_earlier_report_does_not_pass_for_this_one(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text('{"clean": true}')
    given = arguments(tmp_path) | {"--kubeconfig": "nowhere"}
    assert CliRunner().invoke(main, [f"{name}={value}" for name, value in given.items()]).exit_code == 2
    assert not (tmp_path / "report.json").exists()
