"""A load-watcher of a test's own."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kit.commands import Manifest


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of those who went away before they had their answer."""


class LoadWatcher:
    """Tells how busy nodes are, under a path for each plugin, and counts who asked."""

    def __init__(self) -> None:
        self.loads: dict[str, Manifest] = {}  # by the path of who asks
        self.asked: dict[str, int] = {}
        self._server = _QuietServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "LoadWatcher":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        watcher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                who = self.path.removesuffix("/watcher").strip("/")
                watcher.asked[who] = watcher.asked.get(who, 0) + 1
                answer = {"timestamp": time.time(), "data": {"NodeMetricsMap": watcher.loads.get(who, {})}}
                body = json.dumps(answer).encode()
                self.send_response(200 if who in watcher.loads else 503)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the library
                """Stay quiet."""

        return Handler
