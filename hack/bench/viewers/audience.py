"""The viewers, in a process of their own: it reads a plan from standard input.

It prints `ready` when all streams have begun, and what was seen when its input ends.
"""

import asyncio
import json
import ssl
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from itertools import cycle
from time import perf_counter
from typing import Any

import aiohttp

MOST_WAIT = 10.0  # seconds for an answer


class Seen:
    """What the viewers saw."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.events: Counter[str] = Counter()
        self.bytes = 0
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)  # until an answer, by path

    def told(self) -> dict[str, Any]:
        """Return it for the other process."""
        return {
            "statuses": dict(self.statuses),
            "events": dict(self.events),
            "bytes": self.bytes,
            "seconds": {path: sorted(several) for path, several in self.seconds.items()},
        }


async def poll(
    client: aiohttp.ClientSession, viewer: Mapping[str, Any], plan: Mapping[str, Any], seen: Seen, begun: asyncio.Event
) -> None:
    """Ask for one page after the other, as a page in a browser does."""
    tags: dict[str, str] = {}
    async with client.get(plan["url"] + "/access", headers={"Authorization": f"Bearer {viewer['token']}"}) as answer:
        await answer.read()
    begun.set()
    await asyncio.sleep(viewer["begins"])
    for path in cycle(viewer["paths"]):
        headers = {"Authorization": f"Bearer {viewer['token']}"}
        if path in tags:
            headers["If-None-Match"] = tags[path]
        began, pause = perf_counter(), float(plan["every"])
        with suppress(aiohttp.ClientError, TimeoutError):
            async with client.get(plan["url"] + path, headers=headers) as answer:
                seen.bytes += len(await answer.read())
                seen.statuses[answer.status] += 1
                pause = max(pause, 0.0 if plan["greedy"] else float(answer.headers.get("Retry-After", 0)))
                if answer.status == 200:
                    tags[path] = answer.headers.get("ETag", "")
                    seen.seconds[path].append(perf_counter() - began)
        if pause:
            await asyncio.sleep(pause)


async def follow(
    client: aiohttp.ClientSession, viewer: Mapping[str, Any], plan: Mapping[str, Any], seen: Seen, begun: asyncio.Event
) -> None:
    """Read a stream."""
    headers, whole = {"Authorization": f"Bearer {viewer['token']}"}, aiohttp.ClientTimeout(total=None)
    async with client.get(plan["url"] + viewer["stream"], headers=headers, timeout=whole) as answer:
        if answer.status != 200:
            raise RuntimeError(f"a stream was refused: {answer.status} {await answer.text()}")
        async for line in answer.content:
            seen.bytes += len(line)
            if line.startswith(b"event: "):
                seen.events[line[7:].decode().strip()] += 1
                begun.set()


async def watch(plan: Mapping[str, Any]) -> Seen:
    """Let all viewers look until the input ends."""
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    seen, timeout = Seen(), aiohttp.ClientTimeout(total=MOST_WAIT)
    connector = aiohttp.TCPConnector(ssl=anybody, limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as client, asyncio.TaskGroup() as tasks:
        made, beginnings = [], []
        for act in (follow, poll):
            for viewer in plan["viewers"]:
                beginnings.append(asyncio.Event())
                made.append(tasks.create_task(act(client, viewer, plan, seen, beginnings[-1])))
        await asyncio.gather(*(begun.wait() for begun in beginnings))
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        for task in made:
            task.cancel()
    return seen


def main() -> None:
    """Read the plan, look, and say what was seen."""
    plan = json.loads(sys.stdin.readline())
    print(json.dumps(asyncio.run(watch(plan)).told()), flush=True)


if __name__ == "__main__":
    main()
