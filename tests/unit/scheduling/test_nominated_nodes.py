"""Verdicts on nodes that are nominated for others are cached, and equal fresh ones, whatever has changed."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kit.tiers import examples
from pilotage import app
from pilotage.app.profile_engines import engines
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.pod import Pod
from pilotage.queue.nominator import Nominator
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.engine import Engine
from pilotage.testing import make_node, make_pod

CONFIGURED = app.configured(None)
# Few of everything, so that almost every nomination stands in somebody's way.
NODES, WAITING = st.sampled_from(["n0", "n1", "n2"]), st.sampled_from(["w0", "w1", "w2"])
PRIORITIES = [0, 5, 9]
CORES = st.sampled_from(["1", "2"])


class NominatedNodesMachine(RuleBasedStateMachine):
    """One engine that remembers, beside one that is made anew for each question."""

    @initialize()
    def start(self) -> None:
        self.cache = ClusterCache()
        for name in ("n0", "n1", "n2"):
            self.cache.put_node(make_node(name, cpu="2", pods=3))
        self.queued: dict[str, Pod] = {}
        self.nominator = Nominator(self.queued.get)
        self.kept = self.engine()

    def engine(self) -> Engine:
        return next(iter(engines(CONFIGURED.profiles(), self.cache).values()))

    @rule(name=WAITING, node=NODES, priority=st.sampled_from(PRIORITIES), cpu=CORES)
    def nomination(self, name: str, node: str, priority: int, cpu: str) -> None:
        pod = make_pod(name, uid=name, cpu=cpu, priority=priority)
        self.queued[pod.key] = pod
        self.nominator.add(pod, node)
        self.compare()

    @rule(name=WAITING)
    def take_back(self, name: str) -> None:
        self.nominator.delete(make_pod(name, uid=name))
        self.compare()

    @rule(name=WAITING)
    def begin_a_flight(self, name: str) -> None:
        if pod := self.queued.pop(f"default/{name}", None):
            self.nominator.touch(pod)
            self.compare()

    @rule(name=st.sampled_from(["p0", "p1"]), node=NODES, there=st.booleans())
    def change_a_placed_pod(self, name: str, node: str, there: bool) -> None:
        self.cache.remove_pod(name)
        if there:
            self.cache.put_pod(make_pod(name, uid=name, cpu="1", node=node))
        self.compare()

    @rule(name=NODES, cpu=CORES, there=st.booleans())
    def change_a_node(self, name: str, cpu: str, there: bool) -> None:
        if there:
            self.cache.put_node(make_node(name, cpu=cpu, pods=3))
        else:
            self.cache.remove_node(name)
        self.compare()

    def compare(self) -> None:
        """Ask for pods of all priorities in turn, and for those that have a nomination themselves."""
        asked = [make_pod(f"asks-{priority}", cpu="1", priority=priority) for priority in PRIORITIES]
        for pod in (*asked, *self.queued.values()):
            assert self.verdicts(self.kept, pod) == self.verdicts(self.engine(), pod) == self.tried(pod)

    def verdicts(self, engine: Engine, pod: Pod) -> dict[str, Rejection | None]:
        attempt = Attempt(self.cache, engine, self.nominator, pod)
        attempt.run_pre_filter()
        attempt.feasible()
        assert attempt.entry is not None
        found = [None, *attempt.entry.rejections]
        return {node.name: found[code] for node, code in zip(attempt.cycle.nodes, attempt.codes, strict=True)}

    def tried(self, pod: Pod) -> dict[str, Rejection | None]:
        attempt = Attempt(self.cache, self.engine(), self.nominator, pod)
        attempt.run_pre_filter()
        return {node.name: attempt.cycle.try_on(node).verdict() for node in attempt.cycle.nodes}


TestNominatedNodes = NominatedNodesMachine.TestCase
TestNominatedNodes.settings = examples(60, stateful_step_count=15)
