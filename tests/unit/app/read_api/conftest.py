"""A scheduler in memory with its read API on a real socket."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kit.api_scene import Begin, Scene, begun
from localcluster.pki import Authority, Identity


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    authority = Authority(tmp_path_factory.mktemp("pki"))
    authority.issue([Identity("server", "scheduler", "", ("localhost", "127.0.0.1"))])
    return authority


@pytest.fixture
async def begin(authority: Authority) -> AsyncIterator[Begin]:
    running: list[Scene] = []

    async def start(**settings: Any) -> Scene:
        running.append(await begun(authority.folder, **settings))
        return running[-1]

    yield start
    for scene in running:
        await scene.close()


@pytest.fixture
async def scene(begin: Begin) -> Scene:
    return await begin()
