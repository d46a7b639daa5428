"""A client of the API that asks again until it is answered: for tests in which the API server comes and goes."""

import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from kit.admin import STRATEGIC_PATCH, Admin, NoAnswer, Refused, collection_of
from localcluster.record import Cluster

T = TypeVar("T")
ANSWER_SECONDS = 10.0
PAUSE = 0.2


class PatientClient:
    """The cluster's admin, with patience."""

    def __init__(self, cluster: Cluster, seconds: float = 180) -> None:
        self._admin, self._seconds = Admin(cluster, ANSWER_SECONDS), seconds

    def create(self, manifest: Mapping[str, Any]) -> str:
        """Create a pod or a node and return its uid; one of that name that is on its way out is waited for."""
        made = self._patiently(lambda: self._made(manifest))
        return str(made["metadata"]["uid"])

    def delete(self, path: str) -> None:
        """Delete at once; what is not there is no failure."""
        self._patiently(lambda: self._admin.delete(path, gracePeriodSeconds=0))

    def patch(self, path: str, change: Mapping[str, Any]) -> None:
        """Change parts of an object, if it is there."""
        try:
            self._patiently(lambda: self._admin.patch(path, change, STRATEGIC_PATCH))
        except Refused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise

    def items(self, path: str) -> list[dict[str, Any]]:
        """List objects."""
        items: list[dict[str, Any]] = self._patiently(lambda: self._admin.get(path))["items"]
        return items

    def close(self) -> None:
        """Close the connection."""
        self._admin.close()

    def _made(self, manifest: Mapping[str, Any]) -> Any:
        collection = collection_of(manifest)
        path = f"{collection}/{manifest['metadata']['name']}"
        try:
            return self._admin.post(collection, manifest)
        except Refused as refused:
            if refused.status != HTTPStatus.CONFLICT:
                raise
        # One that is there already was made by an attempt of ours whose answer was lost.
        found = self._admin.find(path)
        if found is None or "deletionTimestamp" in found["metadata"]:
            raise NoAnswer(f"{path} is not gone")
        return found

    def _patiently(self, ask: Callable[[], T]) -> T:
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                return ask()
            except (NoAnswer, Refused) as failure:
                if isinstance(failure, Refused) and not failure.may_pass:
                    raise
                if time.monotonic() > deadline:
                    raise NoAnswer(f"after {self._seconds:g} s: {failure}") from failure
            time.sleep(PAUSE)
