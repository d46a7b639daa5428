"""The source of an answer: the running scheduler, this program with what the API server has, or a file."""

from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pilotage.cli.cluster_flags import AUTO, LIVE, Asked
from pilotage.cli.command import BadInput, note
from pilotage.cli.named import quoted
from pilotage.cli.program import is_small
from pilotage.cluster.kubectl.names import PROFILES
from pilotage.cluster.kubectl.refusals import NoCluster, NotReached, Refused
from pilotage.cluster.kubectl.requests import Documents, namespaced

# Not imported for help and completion, which must be fast.
if TYPE_CHECKING:
    from pilotage.cluster.kubectl.replicas import Replica
    from pilotage.cluster.kubectl.scheduler_client import SchedulerClient

T = TypeVar("T")
FORBIDDEN = " is forbidden: "  # the API server's and kubectl's words
NO_OTHER_USER = (
    "the scheduler does not support --as, and would answer with your own rights; use --source local, or omit --as"
)


@dataclass(frozen=True)
class Here:
    """What can be asked: the API server, and the scheduler if it is the source."""

    asked: Asked
    documents: Documents
    scheduler: "SchedulerClient | None" = None

    @property
    def namespace(self) -> str:
        """The namespace of the question; "" for all."""
        return "" if self.asked.all_namespaces else self.asked.namespace or self.documents.namespace

    async def pods(self) -> list[dict[str, Any]]:
        """Return the pods of that namespace."""
        return await self.documents.items(namespaced("pods", self.namespace))

    async def replicas(self) -> "list[Replica]":
        """Return the replicas of the chosen release, or of all."""
        from pilotage.cluster.kubectl.way_in import replicas_of

        return await replicas_of(self.documents, self.asked.release)


async def profiles(documents: Documents, instead: str = "") -> list[dict[str, Any]]:
    """Return all SchedulerProfiles; BadInput if the cluster does not serve the kind, with the hint `instead`."""
    try:
        return await documents.items(PROFILES)
    except Refused as error:
        if error.is_absent:
            raise BadInput(f"the cluster does not serve SchedulerProfiles; is Pilotage installed?{instead}") from None
        raise


async def profile(documents: Documents, name: str, instead: str = "") -> dict[str, Any]:
    """Return one SchedulerProfile; BadInput if it does not exist, with the hint `instead`."""
    try:
        return await documents.get(f"{PROFILES}/{quoted(name)}")
    except Refused as error:
        if not error.is_absent:
            raise
    there = [str(each["metadata"]["name"]) for each in await profiles(documents, instead)]
    raise BadInput(f"{no_profile(name, there)}{instead}")


def no_profile(name: str, there: Iterable[str]) -> str:
    """Return the error for a profile that does not exist."""
    return f"there is no SchedulerProfile {name}; there are: {', '.join(there) or 'none'}"


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run the asynchronous part of a command."""
    import asyncio

    return asyncio.run(work)


@asynccontextmanager
async def cluster(asked: Asked) -> AsyncIterator[Documents]:
    """Give the API server, or the file that replaces it."""
    documents = await _documents(asked)
    try:
        yield documents
    finally:
        await documents.close()


@asynccontextmanager
async def opened(asked: Asked, *, by_itself: str = "as the API server has it") -> AsyncIterator[Here]:
    """Give what can be asked, and print the source; `by_itself` names the source if no scheduler answers."""
    async with AsyncExitStack() as stack:
        documents = await stack.enter_async_context(cluster(asked))
        client = await _scheduler(asked, documents, stack, by_itself)
        yield Here(asked, documents, client)


@asynccontextmanager
async def opened_or_why(asked: Asked) -> "AsyncIterator[tuple[Here, str]]":
    """Give what can be asked, and why the scheduler is not part of it; prints nothing."""
    async with AsyncExitStack() as stack:
        documents = await stack.enter_async_context(cluster(asked))
        try:
            if asked.way.user:
                raise NotReached(NO_OTHER_USER)
            client = await _client(asked, documents, stack)
            await client.get("/access")
        except (NotReached, Refused) as error:
            yield Here(asked, documents), _why(error)
        else:
            yield Here(asked, documents, client), ""


async def opened_quietly(asked: Asked) -> str:
    """Return why no scheduler answers; "" if one does."""
    async with opened_or_why(asked) as (_, why):
        return why


async def _documents(asked: Asked) -> Documents:
    if asked.is_file:
        from pilotage.cli.files import FileCluster  # imports yaml, which only files need

        return FileCluster(asked.source)
    if is_small():
        from pilotage.cluster.kubectl.programme import Kubectl

        kubectl = Kubectl(asked.way)
        context = (await kubectl.chosen())["context"]
        return Documents(kubectl, context.get("namespace") or "default")
    from pilotage.cluster.transport.by_kubeconfig import ByKubeconfig  # the small plugin has no client

    carrier = ByKubeconfig(asked.way, "pilotage")
    return Documents(carrier, carrier.namespace)


async def _scheduler(
    asked: Asked, documents: Documents, stack: AsyncExitStack, by_itself: str
) -> "SchedulerClient | None":
    if asked.source not in (AUTO, LIVE) and not asked.is_address:
        return None
    try:
        if asked.way.user:
            raise NotReached(NO_OTHER_USER)
        client = await _client(asked, documents, stack)
        who = await client.get("/access")
    except NoCluster:
        raise
    except (NotReached, Refused) as error:
        if asked.source != AUTO:
            raise BadInput(f"no scheduler answers: {_why(error)}") from None
        note(f"source: {by_itself}; no scheduler was asked: {_why(error)}")
        return None
    note(f"source: the scheduler{_which(asked)}, as {who.get('user', 'you')}")
    return client


def _why(error: Exception) -> str:
    """Return why no scheduler answers, and who can change that if a right is missing."""
    return (
        f"{error}; an administrator can bind the chart's Role pilotage-ask to you"
        if FORBIDDEN in str(error)
        else str(error)
    )


async def _client(asked: Asked, documents: Documents, stack: AsyncExitStack) -> "SchedulerClient":
    from pilotage.cluster.kubectl.programme import Kubectl
    from pilotage.cluster.kubectl.scheduler_client import SchedulerClient
    from pilotage.cluster.kubectl.way_in import Wanted, identity_for, scheduler

    kubectl = Kubectl(asked.way)
    if asked.is_address:
        return SchedulerClient(asked.source, await identity_for(kubectl, asked.token_from))
    return await stack.enter_async_context(scheduler(kubectl, documents, Wanted(asked.release, asked.token_from)))


def _which(asked: Asked) -> str:
    return f" of {asked.release}" if asked.release else f" at {asked.source}" if asked.is_address else ""
