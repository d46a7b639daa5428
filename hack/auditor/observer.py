"""One kind of object, listed and watched for as long as the auditor lives.

By hand: a judge sees everything with eyes of its own, and shares no client with those whom it judges.
"""

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Iterator
from typing import Any, Protocol

import aiohttp

PAGE = 1000
QUIET = 70.0  # seconds; the API server sends a bookmark every minute, so longer silence is a dead connection
SECOND_LOOK = 10.0  # seconds after which a kind that was not there is looked for again
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
ANSWER_LIMIT = aiohttp.ClientTimeout(total=60, sock_connect=5)
WATCH_LIMIT = aiohttp.ClientTimeout(total=None, sock_connect=5)
TROUBLES = (aiohttp.ClientError, OSError, TimeoutError, ValueError, KeyError, RecursionError)


class CannotWatch(Exception):
    """The API cannot be watched at all; the message says why and what to do."""


class Gone(Exception):
    """The position in the stream is too old; only a new list helps."""


class NotServed(Exception):
    """The API server does not have this kind of objects."""


class Sink(Protocol):
    """Takes what an observer sees."""

    def listed(self, objects: list[dict[str, Any]], began: float, seen_until: float) -> None: ...
    def changed(self, found: dict[str, Any]) -> None: ...
    def gone(self, found: dict[str, Any]) -> None: ...


class Observer:
    """Keeps a sink up to date with one kind of object, whatever the API server does meanwhile.

    list ──► watch ──► watch from the last position (end of stream, silence, connection lost)
      ▲        │
      └────────┴── position too old, an error event, or a fresh list asked for

    What a server need not have counts as an empty list, and is looked for again from time to time.
    """

    def __init__(self, http: aiohttp.ClientSession, url: str, sink: Sink, may_be_missing: bool = False) -> None:
        self._http = http
        self._url = url
        self._sink = sink
        self._may_be_missing = may_be_missing
        self._wanted = asyncio.Event()
        self._asked, self._answered = 1, 0
        self._version = ""
        self._patience: asyncio.Timeout | None = None
        self._pause = FIRST_PAUSE
        self._news = asyncio.Event()
        self._heard = time.time()
        self.in_sight = False
        self.lists = 0
        self.trouble = "no answer"

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                if self._answered < self._asked:
                    await self._list()
                await self._watch()
            except NotServed:
                await self._do_without()
                continue
            except Gone:
                self._asked += 1
            except TROUBLES as error:
                self.trouble = f"{type(error).__name__}: {error}".rstrip(": ")
            self.in_sight = False
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def ask(self) -> None:
        """Ask for a fresh list, unless one is already on its way."""
        if self._answered == self._asked:
            self._demand()

    async def answered(self) -> None:
        """Wait until every list asked for so far has been taken."""
        wanted = self._asked
        while self._answered < wanted:
            self._news.clear()
            await self._news.wait()

    async def refreshed(self) -> None:
        """Wait for a list that begins after now."""
        self._demand()
        await self.answered()

    def _demand(self) -> None:
        self._asked += 1
        self._wanted.set()
        if self._patience:
            self._patience.reschedule(0)

    async def _do_without(self) -> None:
        self._wanted.clear()
        self._sink.listed([], time.time(), self._heard)
        self._answered, self.in_sight = self._asked, True
        self._hear()
        self._news.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wanted.wait(), SECOND_LOOK)
        if self._answered == self._asked:
            self._asked += 1

    async def _list(self) -> None:
        asked, began, seen_until = self._asked, time.time(), self._heard
        objects: list[dict[str, Any]] = []
        page = await self._page("")
        objects += page["items"]
        while token := page["metadata"].get("continue"):
            page = await self._page(token)
            objects += page["items"]
        self._version = page["metadata"]["resourceVersion"]
        self._sink.listed(objects, began, seen_until)
        self._answered, self.lists = asked, self.lists + 1
        self._hear()
        self._news.set()

    async def _page(self, token: str) -> dict[str, Any]:
        asked = {"limit": str(PAGE)} | ({"continue": token} if token else {})
        async with self._http.get(self._url, params=asked, timeout=ANSWER_LIMIT) as answer:
            self._admit(answer)
            page: dict[str, Any] = json.loads(await answer.read())
            return page

    async def _watch(self) -> None:
        asked = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            # Not all clients at once: the API server's watches end at different times.
            "timeoutSeconds": str(random.randint(240, 360)),  # noqa: S311
        }
        async with self._http.get(self._url, params=asked, timeout=WATCH_LIMIT) as answer:
            self._admit(answer)
            if self._answered < self._asked:
                return  # asked for while the connection was made
            try:
                async with asyncio.timeout(QUIET) as self._patience:
                    self.in_sight = True
                    await self._follow(answer.content)
            finally:
                self._patience = None

    async def _follow(self, content: aiohttp.StreamReader) -> None:
        rest = b""
        async for chunk in content.iter_any():
            # An object can be larger than any line limit, so the lines are cut here.
            *lines, rest = (rest + chunk).split(b"\n")
            for event in events(lines):
                self._take(event)
            if self._answered < self._asked:
                return
            self._hear()
            assert self._patience
            self._patience.reschedule(asyncio.get_running_loop().time() + QUIET)

    def _take(self, event: dict[str, Any]) -> None:
        kind, found = event["type"], event["object"]
        if kind == "ERROR":
            self.trouble = f"the API server ended the watch: {found.get('message', found)}"
            raise Gone
        if kind in ("ADDED", "MODIFIED"):
            self._sink.changed(found)
        elif kind == "DELETED":
            self._sink.gone(found)
        self._version = found["metadata"]["resourceVersion"]

    def _hear(self) -> None:
        self._heard = time.time()
        self._pause = FIRST_PAUSE

    def _admit(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status == 410:
            raise Gone
        if answer.status == 404 and self._may_be_missing:
            raise NotServed
        if answer.status in (401, 403) and not self._answered:
            raise CannotWatch(
                f"{self._url} answers {answer.status} {answer.reason}; use a kubeconfig whose user may list and watch"
                " pods, nodes, and resourceclaims and resourceslices where there are devices"
            )
        answer.raise_for_status()


def events(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the watch events of complete lines."""
    for line in lines:
        if line.strip():
            yield json.loads(line)
