import pytest

from kit.binding_api import BindingApi
from pilotage.framework.api.handle import Handle
from pilotage.framework.api.plugin import Permission
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.model.pod import Pod
from pilotage.plugins.pods.default_binder import DefaultBinder
from pilotage.testing import FakeCluster, make_pod


async def test_the_binding_is_posted() -> None:
    posted = []

    async def post(pod: Pod, node: str) -> None:
        posted.append((pod.key, node))

    binder, pod = DefaultBinder(), make_pod("web", namespace="shop")
    binder.start(Handle(api=BindingApi(post)))
    assert await binder.bind(FakeCluster().cycle(pod), pod, "n1") is None
    assert posted == [("shop/web", "n1")]


async def test_what_goes_wrong_is_raised() -> None:
    async def post(pod: Pod, node: str) -> None:
        raise ConnectionError("refused")

    binder, pod = DefaultBinder(), make_pod()
    binder.start(Handle(api=BindingApi(post)))
    with pytest.raises(ConnectionError):
        await binder.bind(FakeCluster().cycle(pod), pod, "n1")


async def test_nothing_is_bound_without_a_cluster() -> None:
    pod = make_pod("web", namespace="shop")
    with pytest.raises(PluginFailed, match="cannot bind shop/web to n1: this scheduler is not connected"):
        await DefaultBinder().bind(FakeCluster().cycle(pod), pod, "n1")


def test_it_says_what_it_must_be_allowed_to_do() -> None:
    assert DefaultBinder.permissions == (Permission("", "pods/binding", ("create",)),)
