"""The pages of the server by path, without authorization and transport."""

import asyncio
import json
import logging
import platform
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pilotage.model.go_text import as_json
from pilotage.model.users import User
from pilotage.telemetry import profiling
from pilotage.telemetry.health import Health, Probe

log = logging.getLogger(__name__)

TEXT = "text/plain; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"
DISCLAIMER = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only."
)


@dataclass(frozen=True, slots=True)
class Question:
    """The parts of a request that pages use."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    accept: str = ""
    body: bytes = b""
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)  # names in lower case
    user: User | None = None  # if the guard identifies the user


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: status, body and content type."""

    status: int
    body: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """A streamed response, sent while the client reads it."""

    pieces: AsyncGenerator[bytes, None]
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: Callable[[], None] = lambda: None  # called if the client does not read in time


@dataclass(frozen=True, kw_only=True)
class Content:
    """The sources of the pages' content, set by the app."""

    health: Health
    metrics: Callable[[], bytes]
    reset_metrics: Callable[[], None]
    resource_metrics: Callable[[], bytes]
    configuration: Callable[[], Mapping[str, object]]
    flags: Mapping[str, str]
    version: str
    emulates: str
    component: str = "pilotage"
    sharing: Callable[[], str] | None = None  # about other schedulers on the same nodes
    # Profiling pages and the verbosity exist only with --profiling.
    profiling: bool = False
    set_verbosity: Callable[[int], None] | None = None
    started: datetime = field(default_factory=lambda: datetime.now(UTC))


Page = Callable[[Question], Awaitable[Answer]]


class Pages:
    """All paths with their methods."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._profiler = profiling.Profiler()
        self._table: dict[str, dict[str, Page]] = {
            "/configz": {"GET": self._configz},
            "/flagz": {"GET": self._flagz},
            "/metrics": {"GET": self._metrics, "DELETE": self._reset_metrics},
            "/metrics/resources": {"GET": self._resource_metrics},
            "/metrics/slis": {"GET": self._slis, "DELETE": self._reset_slis},
            "/statusz": {"GET": self._statusz},
        }
        for group, checks in content.health.groups.items():
            self._table[f"/{group}"] = {"GET": self._probe}
            self._table |= {f"/{group}/{name}": {"GET": self._probe_one} for name in checks}
        if content.sharing is not None:
            self._table["/debug/sharing"] = {"GET": self._sharing}
        if content.profiling:
            self._table["/debug/pprof/"] = {"GET": self._profiles}
            self._table["/debug/pprof/goroutine"] = {"GET": self._tasks}
            self._table["/debug/pprof/heap"] = {"GET": self._heap}
            self._table["/debug/pprof/profile"] = {"GET": self._profile}
            if content.set_verbosity:
                self._table["/debug/flags/v"] = {"PUT": self._verbosity}

    def reads_body(self, method: str, path: str) -> bool:
        """Return whether this path uses the body of a request."""
        return method == "PUT" and "PUT" in self._table.get(path, {})

    async def answer(self, question: Question) -> Answer:
        """Handle any request."""
        methods = self._table.get(question.path)
        if methods is None:
            return Answer(404, b"404 page not found\n")
        page = methods.get("GET" if question.method == "HEAD" else question.method)
        if page is None:
            allowed = ", ".join([*methods, *(["HEAD"] if "GET" in methods else [])])
            return Answer(405, b"405 method not allowed\n", headers={"Allow": allowed})
        try:
            return await page(question)
        except Exception:
            log.exception("the page %s failed", question.path)
            return Answer(500, b"500 internal server error\n")

    async def _probe(self, question: Question) -> Answer:
        excluded = question.query.get("exclude", ())
        group = question.path.removeprefix("/")
        return _probed(self._content.health.probe(group, verbose="verbose" in question.query, excluded=excluded))

    async def _probe_one(self, question: Question) -> Answer:
        _, group, name = question.path.split("/", 2)
        return _probed(self._content.health.probe_one(group, name))

    async def _metrics(self, _: Question) -> Answer:
        return Answer(200, self._content.metrics(), METRICS)

    async def _reset_metrics(self, _: Question) -> Answer:
        self._content.reset_metrics()
        return Answer(200, b"metrics reset\n")

    async def _resource_metrics(self, _: Question) -> Answer:
        return Answer(200, self._content.resource_metrics(), METRICS)

    async def _slis(self, _: Question) -> Answer:
        return Answer(200, self._content.health.metrics(), METRICS)

    async def _reset_slis(self, _: Question) -> Answer:
        self._content.health.reset_metrics()
        return Answer(200, b"metrics reset\n")

    async def _configz(self, _: Question) -> Answer:
        return Answer(200, as_json({"componentconfig": self._content.configuration()}).encode(), JSON)

    async def _flagz(self, question: Question) -> Answer:
        lines = [f"{name}: {value}" for name, value in sorted(self._content.flags.items())]
        return self._for_people(question, "flagz", lines)

    async def _statusz(self, question: Question) -> Answer:
        content = self._content
        up = int((datetime.now(UTC) - content.started).total_seconds())
        facts = {
            "Started": f"{content.started:%a %b %e %H:%M:%S UTC %Y}",
            "Up": f"{up // 3600} hr {up // 60 % 60:02} min {up % 60:02} sec",
            "Python version": platform.python_version(),
            "Binary version": content.version,
            "Emulation version": content.emulates,
            "Paths": " ".join(sorted(path for path in self._table if path.count("/") == 1 and path != "/statusz")),
        }
        return self._for_people(question, "statusz", ["", *(f"{name}= {value}" for name, value in facts.items())])

    def _for_people(self, question: Question, title: str, lines: Sequence[str]) -> Answer:
        if not _accepts_text(question.accept):
            return status_answer(406, "NotAcceptable", "only the following media types are accepted: text/plain")
        text = "\n".join(["", f"{self._content.component} {title}", DISCLAIMER, *lines, ""])
        return Answer(200, text.encode())

    async def _sharing(self, _: Question) -> Answer:
        assert self._content.sharing is not None
        return Answer(200, self._content.sharing().encode())

    async def _verbosity(self, question: Question) -> Answer:
        text = question.body.decode(errors="replace").strip()
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            return Answer(400, b"the body must be the new verbosity: a whole number such as 4\n")
        assert self._content.set_verbosity is not None
        self._content.set_verbosity(int(text))
        return Answer(200, f"successfully set klog.logging.verbosity to {int(text)}\n".encode())

    async def _profiles(self, _: Question) -> Answer:
        return Answer(200, profiling.INDEX.encode())

    async def _tasks(self, _: Question) -> Answer:
        return Answer(200, profiling.tasks(asyncio.all_tasks()).encode())

    async def _heap(self, question: Question) -> Answer:
        wanted = question.query.get("gc", ["0"])[0]
        return Answer(200, profiling.objects(collect=wanted not in ("", "0")).encode())

    async def _profile(self, question: Question) -> Answer:
        seconds = question.query.get("seconds", ["30"])[0]
        if not (seconds.isascii() and seconds.isdecimal() and 0 < int(seconds[:4]) <= profiling.LONGEST):
            return Answer(400, f"seconds must be a whole number from 1 to {profiling.LONGEST}\n".encode())
        profile = await self._profiler.watch(int(seconds))
        if profile is None:
            return Answer(500, b"Could not enable CPU profiling: cpu profiling already in use\n")
        return Answer(200, profile.encode())


def status_answer(code: int, reason: str, message: str, *, with_details: bool = False) -> Answer:
    """Return an error in the API server's format: a metav1.Status."""
    status: dict[str, object] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    status |= {"message": message, "reason": reason} | ({"details": {}} if with_details else {}) | {"code": code}
    return Answer(code, json.dumps(status, indent=2, ensure_ascii=False).encode(), JSON)


def _probed(probe: Probe) -> Answer:
    return Answer(200 if probe.passed else 500, probe.text.encode())


def _accepts_text(accept: str) -> bool:
    ranges = [part.split(";")[0].strip().lower() for part in accept.split(",")]
    return not accept.strip() or any(kind in ("text/plain", "text/*", "*/*") for kind in ranges)
