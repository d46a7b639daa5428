"""Chooses the build engine.

PILOTAGE_ENGINE=own, or no Docker engine answers     buildah
Docker without BuildKit (a new client, no buildx)    buildah, with a message
Docker that cannot get the base image                buildah, with a message
any other Docker engine                              docker
"""

import os
import shutil

from images.buildah import Buildah, find_buildah
from images.commands import Commands, LoggedCommands, is_root
from images.docker import Docker, engine_answers, find_docker
from images.order import DEFAULT_BASE
from images.store import Store
from localcluster import docker_engine
from localcluster.errors import Problem
from localcluster.packages import ensure_packages
from localcluster.progress import say

Engine = Docker | Buildah


def find_engine(commands: Commands, store: Store, base: str | None = None) -> Engine:
    """The engine of this machine that can build on this base, or on the usual one."""
    docker = find_docker(commands)
    if docker and _gets(base or DEFAULT_BASE):
        return docker
    if not is_root():
        raise Problem(
            "no Docker engine can build here, and building without one needs root; start Docker with buildx (or join "
            f"the docker group) where it can pull {base or DEFAULT_BASE}, or run this again as root"
        )
    ensure_packages({"buildah": "buildah"}, "building images without Docker")
    return find_buildah(commands, store)


def engines_with_images(commands: Commands, store: Store) -> list[Engine]:
    """Every engine of this machine that may hold images."""
    engines: list[Engine] = [Docker(commands, buildx=False)] if engine_answers(commands) else []
    return engines + ([find_buildah(commands, store)] if is_root() and shutil.which("buildah") else [])


def _gets(base: str) -> bool:
    reason = docker_engine.why_not_there(base)
    if reason:
        say(f"Docker is available but cannot get {base} ({reason}): building without Docker")
    return not reason


def commands_of(store: Store) -> Commands:
    """The real thing: programs of this machine, in its environment."""
    return LoggedCommands(store, os.environ)
