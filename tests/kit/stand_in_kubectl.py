"""A kubectl for tests: it knows one kubeconfig, asks one API server, and forwards to one port."""

import json
import sys
from pathlib import Path
from typing import Any

PROGRAM = """\
#!{python}
import json, signal, sys, urllib.error, urllib.request
said = json.loads({said!r})
words = [word for word in sys.argv[1:] if not word.startswith(("--kubeconfig", "--context", "--as"))]
with open(said["log"], "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
if words[:2] == ["config", "view"]:
    print(json.dumps(said["config"]))
elif words[:2] == ["config", "get-contexts"]:
    print("here\\nthere")
elif words[0] == "version":
    print(json.dumps({{"clientVersion": {{"gitVersion": said["version"]}}}}))
elif words[0] == "create" and words[1] == "token":
    print("token-of-" + words[2])
elif words[0] == "port-forward" and said["port"]:
    print("Forwarding from 127.0.0.1:%d -> 10260" % said["port"], flush=True)
    signal.pause()
elif words[1:2] == ["--raw"]:
    body = sys.stdin.buffer.read() if words[0] == "create" else None
    try:
        with urllib.request.urlopen(said["server"] + words[2], body) as answer:
            sys.stdout.write(answer.read().decode())
    except urllib.error.HTTPError as error:
        reason = {{403: "Forbidden", 404: "NotFound"}}.get(error.code, "InternalError")
        sys.exit("Error from server (%s): %s" % (reason, json.load(error)["message"]))
elif words[0] == "get":
    with urllib.request.urlopen(said["server"] + "/api/v1/namespaces/default/" + words[1]) as answer:
        print("\\n".join("pod/" + each["metadata"]["name"] for each in json.load(answer)["items"]))
else:
    sys.exit("error: unable to do " + words[0])
"""


class StandInKubectl:
    """Such a program in a folder of its own."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder, self._log = folder, folder / "commands"
        self.said: dict[str, Any] = {"server": server, "port": 0, "version": "v1.37.1", "log": str(self._log)}
        self.said["config"] = config(server, {"token": "secret"})
        folder.mkdir(parents=True, exist_ok=True)
        self.write()

    def write(self) -> None:
        """Let it say what is in `said` now."""
        program = self.folder / "kubectl"
        program.write_text(PROGRAM.format(python=sys.executable, said=json.dumps(self.said)))
        program.chmod(0o755)

    def forwards_to(self, port: int) -> None:
        """Let it forward every port to this one."""
        self.said["port"] = port
        self.write()

    def commands(self) -> list[list[str]]:
        """Return the words of each call so far."""
        return [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []


def config(server: str, user: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    """Return a kubeconfig with one context."""
    return {
        "kind": "Config",
        "apiVersion": "v1",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": server}}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it", "namespace": namespace}}],
    }
