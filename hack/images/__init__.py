"""The container images of Pilotage, built on any machine: with Docker where it runs, with buildah where not."""

from images.archives import archive_of, export

__all__ = ["archive_of", "export"]
