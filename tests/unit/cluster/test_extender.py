"""What an extender is asked, and how its answers are read, over a real connection."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kit.scripted_extender import ScriptedExtender, asking, node_json, pod_json, serving
from pilotage.cluster.services.extender import Extender, ExtenderSettings, in_order
from pilotage.cluster.transport.service_tls import TLS, BadTLS
from pilotage.framework.runtime.preemption.victims import Victims
from pilotage.model.extender_messages import ExtenderFailed, VictimsOnNode, without_type
from pilotage.testing import make_pod

POD = make_pod("web", namespace="shop", uid="u-web")


@pytest.fixture
async def server() -> AsyncIterator[ScriptedExtender]:
    async with serving(ScriptedExtender()) as made:
        yield made


# --------------------------------------------------------------------------------------------------- what is sent


async def test_whole_objects_are_sent_to_an_extender_without_a_cache(server: ScriptedExtender) -> None:
    server.answer = {"Nodes": {"items": [{"metadata": {"name": "n2"}}]}, "FailedNodes": {"n1": "too old"}}
    async with asking(server.url + "/") as extender:
        result = await extender.filter(POD, ["n1", "n2", "gone"])
    nodes = {"metadata": {}, "items": [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]}
    pod = {"metadata": {"name": "web", "uid": "u-web"}}
    assert server.questions == [("/filter", {"Pod": pod, "Nodes": nodes, "NodeNames": None})]
    assert result.names == ["n2"]
    assert result.failed == {"n1": "too old"}


async def test_names_are_sent_to_an_extender_with_a_cache(server: ScriptedExtender) -> None:
    server.answer = {"NodeNames": ["n1"], "FailedAndUnresolvableNodes": {"n2": "never"}}
    async with asking(server.url, node_cache_capable=True) as extender:
        result = await extender.filter(POD, ["n1", "n2"])
    [(_, question)] = server.questions
    assert question["Nodes"] is None
    assert question["NodeNames"] == ["n1", "n2"]
    assert (result.names, result.unresolvable) == (["n1"], {"n2": "never"})


async def test_a_question_larger_than_a_mebibyte_arrives_whole(server: ScriptedExtender) -> None:
    server.answer = {"NodeNames": []}
    names = [f"node-{number:0240}" for number in range(8000)]
    async with asking(server.url, node_cache_capable=True) as extender:
        await extender.filter(POD, names)
    assert server.questions[0][1]["NodeNames"] == names


@pytest.mark.parametrize(
    ("cached", "field", "pods"),
    [
        pytest.param(True, "NodeNameToMetaVictims", [{"UID": "u-low"}], id="by their uids with a cache"),
        pytest.param(
            False, "NodeNameToVictims", [{"metadata": {"name": "low", "uid": "u-low"}}], id="as objects without"
        ),
    ],
)
async def test_victims_are_sent(server: ScriptedExtender, cached: bool, field: str, pods: Any) -> None:
    low = make_pod("low", uid="u-low")
    server.answer = {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u-low"}], "NumPDBViolations": 1}}}
    async with asking(server.url, node_cache_capable=cached) as extender:
        result = await extender.preempt(POD, {"n1": Victims("n1", (low,), 2)})
    [(path, question)] = server.questions
    others = {"NodeNameToVictims": None, "NodeNameToMetaVictims": None}
    told = {"Pod": {"metadata": {"name": "web", "uid": "u-web"}}, **others}
    assert path == "/preempt"
    assert question == told | {field: {"n1": {"Pods": pods, "NumPDBViolations": 2}}}
    assert result == {"n1": VictimsOnNode(["u-low"], 1)}


async def test_a_binding_is_sent_and_its_error_told(server: ScriptedExtender) -> None:
    server.answer = {"Error": ""}
    async with asking(server.url) as extender:
        await extender.bind(POD, "n1")
        server.answer = {"error": "no such node"}
        with pytest.raises(ExtenderFailed, match=r"^no such node$"):
            await extender.bind(POD, "n1")
    asked = {"PodName": "web", "PodNamespace": "shop", "PodUID": "u-web", "Node": "n1"}
    assert server.questions[0] == ("/bind", asked)


async def test_nobody_is_asked_about_a_pod_that_is_gone(server: ScriptedExtender) -> None:
    async with asking(server.url) as extender:
        with pytest.raises(ExtenderFailed, match="pod default/gone was deleted"):
            await extender.filter(make_pod("gone"), ["n1"])
    assert server.questions == []


# -------------------------------------------------------------------------------------------------- what comes back


@pytest.mark.parametrize(
    ("cached", "answer", "left"),
    [
        pytest.param(True, {"nodenames": ["n2"]}, ["n2"], id="names in lower case"),
        pytest.param(True, {"NODENAMES": ["n2", "n2"]}, ["n2"], id="a name twice counts once"),
        pytest.param(True, {"nodes": {"ITEMS": [{"Metadata": {"NAME": "n1"}}]}}, ["n1"], id="objects in any case"),
        pytest.param(False, {"NodeNames": ["n1"]}, [], id="names where objects are expected leave none"),
        pytest.param(True, {"NodeNames": None, "Nodes": None, "Error": None}, [], id="nulls leave none"),
        pytest.param(True, None, [], id="a null leaves none"),
        pytest.param(True, {"NodeNames": ["n1"], "Extra": [1]}, ["n1"], id="an unknown field is none of our business"),
    ],
)
async def test_which_nodes_are_left(server: ScriptedExtender, cached: bool, answer: Any, left: list[str]) -> None:
    server.answer = answer
    async with asking(server.url, node_cache_capable=cached) as extender:
        assert (await extender.filter(POD, ["n1", "n2"])).names == left


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param({"Error": "out of order"}, "out of order", id="its own error"),
        pytest.param(
            {"NodeNames": ["n1", "n9"]},
            'extender "URL" claims a filtered node "n9" which is not found in the input node list',
            id="a node that it was not asked about",
        ),
        pytest.param(
            {"Nodes": {"items": [{"metadata": {"name": "n9"}}]}},
            'extender "URL" claims a filtered node "n9" which is not found in the input node list',
            id="the object of a node that it was not asked about",
        ),
        pytest.param(
            {"FailedNodes": ["n1"]},
            "failed filter with extender at URL URL: FailedNodes: Expected `object | null`, got `array`",
            id="a list in place of a map",
        ),
        pytest.param(
            {"FailedNodes": {"n1": 1}},
            "failed filter with extender at URL URL: FailedNodes: Expected `str | null`, got `int` - at `$[...]`",
            id="a number in place of a reason",
        ),
        pytest.param(
            ["n1"],
            "failed filter with extender at URL URL: the message: Expected `object | null`, got `array`",
            id="a list in place of an answer",
        ),
    ],
)
async def test_answers_to_filter_that_are_errors(server: ScriptedExtender, answer: Any, text: str) -> None:
    server.answer = answer
    async with asking(server.url, node_cache_capable=True) as extender:
        with pytest.raises(ExtenderFailed) as failed:
            await extender.filter(POD, ["n1", "n2"])
    assert str(failed.value).replace(server.url, "URL") == text


async def test_an_endless_reason_is_cut(server: ScriptedExtender) -> None:
    server.answer = {"NodeNames": [], "FailedNodes": {"n1": "x" * 5000}, "FailedAndUnresolvableNodes": {"n1": None}}
    async with asking(server.url, node_cache_capable=True) as extender:
        result = await extender.filter(POD, ["n1"])
    assert len(result.failed["n1"]) == 1024
    assert result.unresolvable == {"n1": ""}


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        pytest.param([{"Host": "n1", "Score": 7}], [("n1", 7)], id="as it should be"),
        pytest.param([{"host": "n1", "score": -5}], [("n1", -5)], id="lower case and below zero"),
        pytest.param([{"Host": "n1", "Score": 2**63 - 1}], [("n1", 2**63 - 1)], id="the largest number there is"),
        pytest.param([{"Host": "n1"}, None], [("n1", 0), ("", 0)], id="without a score, without anything"),
        pytest.param(None, [], id="null"),
    ],
)
async def test_scores(server: ScriptedExtender, answer: Any, scores: Any) -> None:
    server.answer = answer
    async with asking(server.url) as extender:
        assert await extender.prioritize(POD, ["n1"]) == scores


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([{"Host": "n1", "Score": 2**63}], id="too large for 64 bits"),
        pytest.param([{"Host": "n1", "Score": 7.5}], id="a fraction"),
        pytest.param([{"Host": "n1", "Score": True}], id="true"),
        pytest.param([{"Host": 1, "Score": 7}], id="a node that is a number"),
        pytest.param({"n1": 7}, id="a map"),
        pytest.param([["n1", 7]], id="pairs"),
    ],
)
async def test_scores_that_are_none(server: ScriptedExtender, answer: Any) -> None:
    server.answer = answer
    async with asking(server.url) as extender:
        with pytest.raises(ExtenderFailed, match=r"^failed prioritize with extender at URL http://127"):
            await extender.prioritize(POD, ["n1"])


@pytest.mark.parametrize(
    ("answer", "victims"),
    [
        pytest.param({"nodenametometavictims": {"n1": None}}, {"n1": VictimsOnNode([], 0)}, id="a node without any"),
        pytest.param({}, {}, id="no node"),
        pytest.param(
            {"NodeNameToMetaVictims": {"n1": {"pods": [{"uid": "a"}, None], "numpdbviolations": 3}}},
            {"n1": VictimsOnNode(["a", ""], 3)},
            id="lower case, and a pod that is null",
        ),
    ],
)
async def test_victims_that_come_back(server: ScriptedExtender, answer: Any, victims: Any) -> None:
    server.answer = answer
    async with asking(server.url) as extender:
        assert await extender.preempt(POD, {}) == victims


# ------------------------------------------------------------------------------------------------------- interest


@pytest.mark.parametrize(
    ("managed", "fields", "interested"),
    [
        pytest.param((), {}, True, id="who manages nothing has a word in everything"),
        pytest.param(("a.com/x",), {"requests": {"a.com/x": 1}}, True, id="requested"),
        pytest.param(("a.com/x",), {"limits": {"a.com/x": 1}}, True, id="limited"),
        pytest.param(("a.com/x",), {"init": [{"a.com/x": 1}]}, True, id="requested by an init container"),
        pytest.param(("a.com/x",), {"requests": {"a.com/y": 1}}, False, id="another resource"),
        pytest.param(("a.com/x",), {}, False, id="nothing"),
    ],
)
async def test_interest(managed: tuple[str, ...], fields: Any, interested: bool) -> None:
    async with asking("http://127.0.0.1:1", managed_resources=frozenset(managed)) as extender:
        assert extender.interested(make_pod(**fields)) is interested


def test_those_that_may_fail_come_last() -> None:
    settings = [ExtenderSettings(f"http://{name}", ignorable=name in "ac") for name in "abcd"]
    extenders = [Extender(each, pod_json, node_json) for each in settings]
    assert [extender.name[-1] for extender in in_order(extenders)] == ["b", "d", "a", "c"]


def test_an_object_without_its_type() -> None:
    assert without_type(b'{"kind": "Pod", "apiVersion": "v1", "spec": {"a":  [1]}}') == b'{"spec":{"a":  [1]}}'


class TestCredentials:
    """An extender that a profile names is shown only what the owner of the cluster says."""

    async def test_one_that_is_refused_is_never_asked(self, server: ScriptedExtender) -> None:
        settings = ExtenderSettings(server.url, filter_verb="filter", refused="urlPrefix: it is no host of the list")
        extender = Extender(settings, lambda _: b"{}", lambda _: b"{}")
        with pytest.raises(ExtenderFailed, match="is not called: urlPrefix: it is no host of the list"):
            await extender.filter(POD, ["n1"])
        await extender.close()
        assert server.questions == []

    async def test_a_key_that_cannot_be_read_stops_no_scheduler_that_serves_others(self, tmp_path: Path) -> None:
        tls = TLS(cert_file=f"{tmp_path}/tls.crt", key_file=f"{tmp_path}/tls.key")
        settings = ExtenderSettings("https://gpu", filter_verb="filter", tls=tls, directory=str(tmp_path))
        extender = Extender(settings, lambda _: b"{}", lambda _: b"{}")
        with pytest.raises(ExtenderFailed, match=r"https://gpu is not called: the TLS configuration .* cannot be used"):
            await extender.filter(POD, ["n1"])
        with pytest.raises(BadTLS):  # as kube-scheduler, where whoever starts it wrote the file
            Extender(replace(settings, directory=None), lambda _: b"{}", lambda _: b"{}")

    async def test_no_message_has_a_password(self, server: ScriptedExtender) -> None:
        server.handler = web_failing
        url = server.url.replace("//", "//me:s3cret@")
        extender = Extender(ExtenderSettings(url, filter_verb="filter"), lambda _: b"{}", lambda _: b"{}")
        with pytest.raises(ExtenderFailed, match="code 500") as failure:
            await extender.filter(POD, ["n1"])
        await extender.close()
        assert "s3cret" not in f"{failure.value} {extender.name} {extender!r}"


async def web_failing(request: web.Request) -> web.StreamResponse:
    raise web.HTTPInternalServerError
