"""Chooses who builds: a Docker engine if one answers, else buildah."""

import os

from cluster.errors import Problem
from cluster.packages import ensure_packages
from images.buildah import Buildah, find_buildah
from images.commands import Commands, LoggedCommands, is_root
from images.docker import Docker, find_docker
from images.store import Store

Engine = Docker | Buildah


def find_engine(commands: Commands, store: Store) -> Engine:
    """The engine of this machine."""
    if docker := find_docker(commands):
        return docker
    if not is_root():
        raise Problem(
            "no Docker engine answers, and building without one needs root; "
            "start Docker (or join the docker group), or run this again as root"
        )
    ensure_packages({"buildah": "buildah"}, "building images without Docker")
    return find_buildah(commands, store)


def commands_of(store: Store) -> Commands:
    """The real thing: programs of this machine, in its environment."""
    return LoggedCommands(store, os.environ)
