"""A bind that did its work and was answered with an error, on a client whose connections are all busy since."""

import asyncio
from typing import Any

import pytest

from pilotage.cluster.write.bind_outcomes import Bound
from pilotage.cluster.write.binder import Binder
from pilotage.testing import make_pod


@pytest.mark.parametrize("status", [500, 503, 504])
async def test_it_is_not_sent_again_after_the_watch_saw_the_pod_bound(serve: Any, client_of: Any, status: int) -> None:
    others_come, other_may_go = asyncio.Event(), asyncio.Event()

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status)
        await peer.request()
        others_come.set()
        await other_may_go.wait()
        await peer.ok()
        await peer.request()
        await peer.ok()

    server = await serve(script)
    binder = Binder(client_of(server, connections=1), lambda _pod, _node: True)
    sighting: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
    bind = asyncio.create_task(binder.bind(make_pod("web", uid="web"), "n1", sighting))
    other = asyncio.create_task(binder.bind(make_pod("other", uid="other"), "n1"))
    await others_come.wait()
    await asyncio.sleep(0.02)  # longer than the pause before a second attempt
    sighting.set_result("n1")
    other_may_go.set()
    assert (await bind, await other) == (Bound(), Bound())
    assert [request.split(b" ")[1].split(b"/")[-2] for request in server.requests] == [b"web", b"other"]
