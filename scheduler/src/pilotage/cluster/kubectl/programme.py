"""kubectl as a child process: it supports every way to log in, and forwards ports."""

import asyncio
import json
import re
import shutil
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from pilotage.cluster.kubectl.refusals import NoCluster, NotReached, Refused
from pilotage.cluster.kubectl.way import Way

LONGEST_RUN = 60.0  # seconds
STATUS = {
    "BadRequest": 400,
    "Unauthorized": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "Conflict": 409,
    "Expired": 410,
    "Invalid": 422,
    "TooManyRequests": 429,
    "InternalError": 500,
    "ServiceUnavailable": 503,
}
NO_SERVER = re.compile(r"[Cc]onnect(ion)? to the server")
SERVER_SAID = re.compile(r"Error from server(?: \((\w+)\))?: (.*)", re.DOTALL)
_LONGEST_QUOTE = 500
_NOTHING: Mapping[str, str] = {}


class Kubectl:
    """Runs kubectl with the user's flags."""

    def __init__(self, way: Way, program: str = "kubectl") -> None:
        self._way, self._program = way, program

    def command(self, *words: str) -> list[str]:
        """Return the whole command line; NotReached if there is no kubectl."""
        found = shutil.which(self._program)
        if found is None:
            raise NotReached("kubectl is required, and not on PATH; install it, or add its folder to PATH")
        return [found, *self._way.flags, *words]

    async def run(self, *words: str, stdin: bytes | None = None) -> bytes:
        """Return the output of kubectl; Refused or NotReached if it fails."""
        pipe = asyncio.subprocess.PIPE
        said_to = asyncio.subprocess.DEVNULL if stdin is None else pipe
        child = await asyncio.create_subprocess_exec(*self.command(*words), stdin=said_to, stdout=pipe, stderr=pipe)
        try:
            async with asyncio.timeout(LONGEST_RUN):
                out, err = await child.communicate(stdin)
        except TimeoutError:
            raise NotReached(f"kubectl {words[0]} did not finish within {LONGEST_RUN:.0f} seconds") from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        if child.returncode:
            raise failure(err.decode(errors="replace"))
        return out

    async def get(self, path: str, query: Mapping[str, str] = _NOTHING) -> bytes:
        """Read a path of the API server."""
        return await self.run("get", "--raw", f"{path}?{urlencode(query)}" if query else path)

    async def post(self, path: str, body: bytes) -> bytes:
        """Send a document to the API server."""
        return await self.run("create", "--raw", path, "-f", "-", stdin=body)

    async def close(self) -> None:
        """Do nothing: no connection is kept."""

    async def chosen(self) -> dict[str, Any]:
        """Return the cluster, the user and the context of the kubeconfig, each as a map."""
        whole = json.loads(await self.run("config", "view", "--minify", "--raw", "--flatten", "-o", "json"))
        return {kind: (whole.get(f"{kind}s") or [{}])[0].get(kind) or {} for kind in ("cluster", "user", "context")}


def failure(said: str) -> Refused | NotReached:
    """Return the exception for an error message of kubectl."""
    found = SERVER_SAID.search(said.strip())
    if found is not None:
        return Refused(STATUS.get(found[1] or "", 500), " ".join(found[2].split())[:_LONGEST_QUOTE])
    text = " ".join(said.split()).removeprefix("error: ")[-_LONGEST_QUOTE:] or "no message"
    return (NoCluster if NO_SERVER.search(text) else NotReached)(f"kubectl failed: {text}")
