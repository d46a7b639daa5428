"""The program at a cluster of the test: an API server, a kubectl, and a scheduler that answers if it is wanted."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from kit.small_api import SmallApi, small_api
from kit.stand_in_kubectl import StandInKubectl, config
from kit.stand_in_scheduler import StandInScheduler, stand_in_scheduler
from pilotage.cli import main
from pilotage.cluster.kubectl.replicas import SELECTOR

SCHEDULER_LABELS = dict(part.split("=") for part in SELECTOR.split(","))


class AskedCluster:
    """What a person has: a kubeconfig, kubectl on PATH, and this program."""

    def __init__(self, api: SmallApi, folder: Path, scheduler: StandInScheduler | None) -> None:
        self.api, self.folder, self.scheduler = api, folder, scheduler
        self.kubectl = StandInKubectl(folder / "bin", api.url)
        api.objects.setdefault("schedulerprofiles", {})
        api.answers["/apis/coordination.k8s.io/v1/namespaces/pilotage/leases"] = {"items": []}
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump(config(api.url, {"token": "secret"})))

    def pod(self, name: str, namespace: str = "default", **more: Any) -> None:
        """Add a pod; `says` is why it waits, in its scheduler's words."""
        says, metadata = more.pop("says", ""), {"name": name, "namespace": namespace, **more.pop("metadata", {})}
        told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": says}
        status = {"phase": "Pending", "conditions": [told] if says else [], **more.pop("status", {})}
        metadata.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        self.api.put("pods", {"metadata": metadata, "spec": more, "status": status})

    def replica(
        self, name: str, *, ready: bool = True, leads: bool = False, release: str = "pilotage", **annotations: str
    ) -> None:
        """Add a pod of a scheduler."""
        labels = (
            SCHEDULER_LABELS
            | {"app.kubernetes.io/instance": release}
            | ({"pilotage.dev/leads": "true"} if leads else {})
        )
        condition = {"type": "Ready", "status": "True" if ready else "False"}
        told = {f"pilotage.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self.pod(
            name,
            "pilotage",
            metadata={"labels": labels, "annotations": told},
            status={"phase": "Running", "conditions": [condition]},
            nodeName="n1",
        )

    def profile(self, name: str, *conditions: tuple[str, str, str], **more: Any) -> None:
        """Add a SchedulerProfile whose conditions are (type, status, reason)."""
        told = [
            {"type": kind, "status": status, "reason": reason, "message": f"because of {reason}"}
            | {"lastTransitionTime": "2026-01-01T00:00:01Z", "observedGeneration": 1}
            for kind, status, reason in conditions
        ]
        spec, status = more.pop("spec", {}), {"observedGeneration": 1, "conditions": told, **more.pop("status", {})}
        metadata = {"name": name, "generation": 1, **more}
        body = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile"}
        self.api.put("schedulerprofiles", {**body, "metadata": metadata, "spec": spec, "status": status})

    async def run(self, *words: str, **environment: str) -> Result:
        """Run the program as a person does; never may it show a traceback."""
        env = {"PATH": f"{self.kubectl.folder}{os.pathsep}{os.environ['PATH']}", "KUBECONFIG": str(self.kubeconfig)}
        runner = CliRunner(env={**env, "KUBERNETES_SERVICE_HOST": "", **environment})
        result = await asyncio.to_thread(runner.invoke, main, list(words))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    async def data(self, *words: str) -> Any:
        """Return what the program prints for programs."""
        return json.loads((await self.run(*words, "-o", "json")).stdout)


@asynccontextmanager
async def asked_cluster(folder: Path, *, with_scheduler: bool = False) -> AsyncIterator[AskedCluster]:
    """Give such a cluster; its scheduler leads and can be asked, if there is to be one."""
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(small_api())
        scheduler = await stack.enter_async_context(stand_in_scheduler()) if with_scheduler else None
        cluster = AskedCluster(api, folder, scheduler)
        if scheduler is not None:
            cluster.replica("leader", leads=True)
            cluster.kubectl.forwards_to(scheduler.port)
        yield cluster
