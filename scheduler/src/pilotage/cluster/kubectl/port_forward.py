"""A forwarded port of a pod, while kubectl runs."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from pilotage.cluster.kubectl.programme import Kubectl, failure

READY_WITHIN = 15.0  # seconds
ENDS_WITHIN = 3.0
FORWARDING = re.compile(rb"Forwarding from 127\.0\.0\.1:(\d+) ->")


@asynccontextmanager
async def forwarded(kubectl: Kubectl, namespace: str, pod: str, port: int) -> AsyncIterator[int]:
    """Give the local port, chosen by kubectl, that leads to a port of a pod."""
    words = ("port-forward", "-n", namespace, f"pod/{pod}", f":{port}", "--address=127.0.0.1")
    pipe = asyncio.subprocess.PIPE
    # Its own process group: an interrupt at the terminal reaches only this process, which then stops the child.
    child = await asyncio.create_subprocess_exec(
        *kubectl.command(*words), stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True
    )
    try:
        yield await _port(child)
    finally:
        await _end(child)


async def _port(child: asyncio.subprocess.Process) -> int:
    assert child.stdout is not None
    assert child.stderr is not None
    with suppress(TimeoutError):
        async with asyncio.timeout(READY_WITHIN):
            while line := await child.stdout.readline():
                if found := FORWARDING.match(line):
                    return int(found[1])
            said = (await child.stderr.read()).decode(errors="replace")
            raise failure(said)
    raise failure(f"port-forward was not ready within {READY_WITHIN:.0f} seconds")


async def _end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is not None:
        return
    try:
        # Not child.terminate(), which may reap the child before the event loop does.
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGTERM)
        async with asyncio.timeout(ENDS_WITHIN):
            await child.wait()
    except TimeoutError:
        os.kill(child.pid, signal.SIGKILL)
        await child.wait()
