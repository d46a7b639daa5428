"""Builds the container images of Pilotage on any machine, with Docker or, without it, with buildah."""

from images.archives import archive_of, export

__all__ = ["archive_of", "export"]
