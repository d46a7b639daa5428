"""An extender on a port of its own that plays many parts, each under a path of its own, from well to very sick."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Question = dict[str, Any]
Part = Callable[["Call"], None]  # answers one question, in whatever way

CHUNK = b" " * 65536


class Call(BaseHTTPRequestHandler):
    """One question, and the means to answer it."""

    protocol_version = "HTTP/1.1"
    server: "PlayingExtender"
    question: Question
    verb: str

    def do_POST(self) -> None:
        """Let the part of this path answer."""
        self.question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        part, _, self.verb = self.path.removeprefix("/").partition("/")
        self.server.asked.append((part, self.verb, self.question))
        self.server.parts[part](self)

    def nodes(self) -> list[str]:
        """Return the names of the nodes that it was asked about, in whichever form."""
        return nodes_of(self.question)

    def leave(self, *names: str, **more: Any) -> None:
        """Answer `filter` with these nodes, in the form of the question."""
        if self.question.get("NodeNames") is not None:
            self.answer({"NodeNames": list(names), **more})
        else:
            items = [node for node in self.question["Nodes"]["items"] if node["metadata"]["name"] in names]
            self.answer({"Nodes": {"items": items}, **more})

    def answer(self, value: object) -> None:
        """Answer with JSON."""
        self.send(200, json.dumps(value).encode())

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Answer with any bytes."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def pour(self, size: int) -> None:
        """Begin a correct answer and do not come to its end before so many bytes, unless the other side hangs up."""
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(b'{"NodeNames": [')
        for _ in range(size // len(CHUNK)):
            self.wfile.write(CHUNK)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def nodes_of(question: Question) -> list[str]:
    """Return the names of the nodes in a question, in whichever form."""
    names = question.get("NodeNames")
    return list(names) if names is not None else [node["metadata"]["name"] for node in question["Nodes"]["items"]]


class PlayingExtender(ThreadingHTTPServer):
    """Answers in threads; a part can be given another one to play at any time."""

    daemon_threads = True
    request_queue_size = 128  # the default of 5 lets a burst of questions wait for longer than their askers do

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Call)
        self.parts: dict[str, Part] = {}
        self.asked: list[tuple[str, str, Question]] = []  # part, verb, question
        self.healed = threading.Event()

    @property
    def url(self) -> str:
        """Return the address under which the parts are."""
        return f"http://127.0.0.1:{self.server_port}"

    def wait_until_healed(self, call: Call) -> None:
        """Play a part that does not answer, until it is well again."""
        self.healed.wait()
        well(call)

    def handle_error(self, *_: object) -> None:
        """Take no offence at whoever hangs up."""


@contextmanager
def playing(parts: Mapping[str, Part], port: int = 0) -> Iterator[PlayingExtender]:
    """Let an extender listen for as long as the block lasts."""
    with PlayingExtender(port) as extender:
        extender.parts = dict(parts)
        thread = threading.Thread(target=extender.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield extender
        finally:
            extender.healed.set()
            extender.shutdown()
            thread.join()


# ------------------------------------------------------------------------------------------------------------ parts


def well(call: Call) -> None:
    """Agree to everything."""
    if call.verb == "prioritize":
        call.answer([])
    else:
        call.leave(*call.nodes())


def leaves_all_out(call: Call) -> None:
    """Leave no node, and say no word about it."""
    call.leave()


def rejects(call: Call) -> None:
    """Reject every node, each half for a reason of its own."""
    reasons = {name: "the licence has run out" if int(name[-1]) % 2 else "no room" for name in call.nodes()}
    call.leave(FailedNodes=reasons)


def rejects_for_good(call: Call) -> None:
    """Reject every node, some so that no eviction helps."""
    first, *others = sorted(call.nodes())
    call.leave(FailedNodes={first: "no room"}, FailedAndUnresolvableNodes=dict.fromkeys(others, "no such device"))


def complains(call: Call) -> None:
    """Say that something is wrong."""
    call.answer({"Error": "the licence server is down"})


def invents_a_node(call: Call) -> None:
    """Leave a node that nobody knows."""
    call.answer({"NodeNames": ["of-my-own"], "Nodes": {"items": [{"metadata": {"name": "of-my-own"}}]}})


def talks_nonsense(call: Call) -> None:
    """Answer with JSON of another shape."""
    call.answer({"NodeNames": {"how": "many"}, "FailedNodes": [1, 2, 3]})


def speaks_no_json(call: Call) -> None:
    """Answer with something else than JSON."""
    call.send(200, b"<html>It works!</html>")


def breaks_down(call: Call) -> None:
    """Answer with an internal error."""
    call.send(500, b"oops")


def sends_elsewhere(call: Call) -> None:
    """Send the other side somewhere else."""
    call.send(307, Location="http://127.0.0.1:1/elsewhere")


def hangs_up(call: Call) -> None:
    """Answer nothing at all."""
    call.close_connection = True


def never_ends(call: Call) -> None:
    """Answer with a gigabyte."""
    call.pour(1 << 30)


def rambles(call: Call) -> None:
    """Give every node a reason of many megabytes."""
    call.leave(FailedNodes=dict.fromkeys(call.nodes(), "on and on " * 300_000))


def is_slow(call: Call) -> None:
    """Answer well, but later than anybody waits."""
    time.sleep(3)
    well(call)
