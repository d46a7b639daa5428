"""`pilotage extender`: how it starts, and why it does not."""

import asyncio
import re
import socket
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from click.testing import CliRunner, Result

from localcluster.pki import Authority, Identity
from pilotage.cli.extender import command

EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - nobody gets that far
PROGRAM = "from pilotage.cli.extender import command; command()"


def run(*words: object) -> Result:
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(["--config", "/nowhere.yaml"], "/nowhere.yaml", id="no such configuration"),
        pytest.param(
            ["--profile", "default-schduler"],
            'there is no such profile; did you mean "default-scheduler"?',
            id="no such profile",
        ),
        pytest.param(
            ["--profile", "x"], "there is no such profile; the profiles are default-scheduler", id="nothing like it"
        ),
        pytest.param(["--client-ca-file", "ca"], "--client-ca-file needs --tls-cert-file", id="a CA without TLS"),
        pytest.param(["--tls-private-key-file", "k"], "--tls-private-key-file needs --tls-cert-file", id="only a key"),
        pytest.param(["--tls-cert-file", "/nowhere.crt"], "invalid certificate", id="no such certificate"),
        pytest.param(["--kubeconfig", "/nowhere"], "/nowhere", id="no such kubeconfig"),
        pytest.param(["--port", "70000"], "70000", id="no such port"),
        *(
            pytest.param(
                ["--address", address], f"--address {address} is open to other machines", id=f"anybody at {address}"
            )
            for address in (EVERYWHERE, "::", "10.1.2.3", "fe80::1%eth0", "myhost.example", "127.0.0.1.example")
        ),
    ],
)
def test_what_a_person_gave_is_wrong(words: list[str], text: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert text in result.stderr
    assert "Traceback" not in result.output


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("--port", port)
    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1:{port}: " in result.stderr


@pytest.mark.parametrize("with_client_ca", [False, True])
def test_others_may_ask_only_with_a_certificate(tmp_path: Path, with_client_ca: bool) -> None:
    Authority(tmp_path).issue([Identity("server", "server", "", ("127.0.0.1",))])
    words = [
        f"--address={EVERYWHERE}",
        f"--tls-cert-file={tmp_path}/server.crt",
        f"--tls-private-key-file={tmp_path}/server.key",
    ]
    with socket.create_server((EVERYWHERE, 0)) as taken:  # so that it gets as far as to listen, and no further
        result = run(
            *words, f"--port={taken.getsockname()[1]}", *([f"--client-ca-file={tmp_path}/ca.crt"] * with_client_ca)
        )
    assert result.exit_code == 2
    assert ("--client-ca-file, so that clients need a certificate" in result.stderr) is not with_client_ca
    assert ("cannot listen on 0.0.0.0" in result.stderr) is with_client_ca


async def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    Authority(tmp_path).issue([Identity("server", "server", "", ("127.0.0.1",))])
    words = ["--port=0", f"--plugin-dir={EXAMPLES}"]
    words += [f"--tls-cert-file={tmp_path / 'server.crt'}", f"--tls-private-key-file={tmp_path / 'server.key'}"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    try:
        assert re.fullmatch(r"serving on https://127\.0\.0\.1:\d+\n", line)
        async with aiohttp.ClientSession() as session:
            response = await session.get(f"{line.split()[-1]}/healthz", ssl=False)
            assert await response.text() == "ok"
    finally:
        process.terminate()
        notes = (await process.communicate())[1].decode()
    assert process.returncode == 0
    assert re.search("^note: plugins that run: .*NameScore$", notes, re.MULTILINE)
    assert re.search(
        "^note: plugins that do not run, because they need more than .*NodeResourcesFit", notes, re.MULTILINE
    )


def test_help_has_examples() -> None:
    assert "pilotage extender" in run("--help").stdout.partition("Examples:")[2]
