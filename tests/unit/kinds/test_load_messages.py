"""What sources of load figures may answer, and what is left of it."""

import json
from typing import Any

import pytest

from pilotage.kinds.load_messages import Malformed, Sample, read_node_metrics, read_vector, read_watched
from pilotage.kinds.node_metrics import NodeMetrics, capacity_of, load_of
from pilotage.model.node_load import NodeLoad, ResourceLoad, seconds_since_1970
from pilotage.testing import decode_node, make_node, node_manifest

NOW = 1_000_000.0


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def usage(name: str, cpu: Any = "250m", memory: Any = "1Gi", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "usage": {"cpu": cpu, "memory": memory}, **more}


class TestTheMetricsAPI:
    NODE = make_node("n1", cpu=1, memory="4Gi")

    def load(self, **fields: Any) -> NodeLoad:
        ((metrics,), bad) = read_node_metrics(body({"items": [usage("n1", **fields)]}))
        assert bad == 0
        return load_of(metrics, self.NODE, NOW)

    def test_use_is_a_share_of_capacity(self) -> None:
        assert self.load() == NodeLoad(ResourceLoad(25), ResourceLoad(25), NOW)

    def test_of_capacity_not_of_what_pods_can_have(self) -> None:
        manifest = node_manifest("n1", cpu=1, memory="4Gi")
        manifest["status"]["capacity"]["cpu"] = "2"
        metrics = NodeMetrics(self.NODE.metadata, usage={"cpu": "500m"})
        assert load_of(metrics, decode_node(manifest), NOW).cpu == ResourceLoad(25)

    def test_a_node_that_does_not_tell_its_capacity(self) -> None:
        manifest = node_manifest("n1", cpu=2)
        del manifest["status"]["capacity"]
        assert capacity_of(decode_node(manifest), "cpu") == 2 * 10**9

    @pytest.mark.parametrize(
        ("timestamp", "until"),
        [
            pytest.param("1970-01-12T13:46:30Z", NOW - 10, id="a while ago"),
            pytest.param("1970-01-12T13:46:30.5Z", NOW - 9.5, id="with a fraction"),
            pytest.param("1999-01-01T00:00:00Z", NOW, id="not after now"),
            pytest.param("1970-01-12T13:46:30", NOW, id="nobody knows in which zone"),
            pytest.param("now", NOW, id="no time"),
            pytest.param("9999999-01-01T00:00:00Z", NOW, id="no year"),
            pytest.param(None, NOW, id="nothing"),
        ],
    )
    def test_when_it_was_measured(self, timestamp: str | None, until: float) -> None:
        given = {} if timestamp is None else {"timestamp": timestamp}
        assert self.load(**given).until == until

    @pytest.mark.parametrize("cpu", ["much", "", "1e99", "-1e99", "NaN", [1]])
    def test_an_amount_of_no_use_leaves_the_others(self, cpu: Any) -> None:
        found, bad = read_node_metrics(body({"items": [usage("n1", cpu=cpu), usage("n2")]}))
        loads = {each.metadata.name: load_of(each, self.NODE, NOW) for each in found}
        assert loads["n2"].cpu == ResourceLoad(25)
        assert (bad, loads["n1"].cpu if "n1" in loads else None) == (1 if isinstance(cpu, list) else 0, None)

    def test_a_node_without_capacity(self) -> None:
        metrics = NodeMetrics(self.NODE.metadata, usage={"cpu": "1"})
        assert load_of(metrics, make_node("n1", cpu=0), NOW).cpu is None

    @pytest.mark.parametrize("items", [None, []])
    def test_an_empty_list(self, items: Any) -> None:
        assert read_node_metrics(body({"items": items})) == ([], 0)

    def test_entries_that_are_none(self) -> None:
        entries: list[Any] = [
            1,
            None,
            {},
            {"metadata": []},
            {"metadata": {"name": "n1"}, "usage": {"cpu": None}},
            usage("n2"),
        ]
        found, bad = read_node_metrics(body({"items": entries}))
        assert ([each.metadata.name for each in found], bad) == (["n2"], 5)


def vector(*entries: Any) -> Any:
    return {"status": "success", "data": {"resultType": "vector", "result": list(entries)}}


def series(value: Any, **labels: str) -> Any:
    return {"metric": labels, "value": [NOW, value]}


class TestPrometheus:
    def test_numbers_with_their_labels(self) -> None:
        found = read_vector(body(vector(series("0.25", instance="n1"), series("1e-1", instance="n2", job="x"))))
        assert found == ([Sample({"instance": "n1"}, 0.25), Sample({"instance": "n2", "job": "x"}, 0.1)], 0)

    @pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e300", "", "half", None, [1], 5])
    def test_what_is_no_number_leaves_the_others(self, value: Any) -> None:
        found = read_vector(body(vector(series(value, instance="n1"), series("0.25", instance="n2"))))
        assert found == ([Sample({"instance": "n2"}, 0.25)], 1)

    def test_no_numbers_at_all(self) -> None:
        assert read_vector(body(vector())) == ([], 0)

    @pytest.mark.parametrize(
        ("answer", "told"),
        [
            pytest.param({"status": "error", "error": "parse error"}, "parse error", id="an error"),
            pytest.param({"status": "success"}, "its status is 'success'", id="no data"),
            pytest.param({}, "its status is ''", id="nothing"),
            pytest.param(
                {"status": "success", "data": {"resultType": "matrix", "result": []}},
                "the query returns a matrix, not a vector",
                id="something else than a vector",
            ),
            pytest.param(
                {"status": "success", "data": {"resultType": "vector", "result": {}}}, "cannot be decoded", id="no list"
            ),
            pytest.param([], "cannot be decoded", id="a list"),
        ],
    )
    def test_answers_that_are_none(self, answer: Any, told: str) -> None:
        with pytest.raises(Malformed, match=told):
            read_vector(body(answer))


def metric(kind: str, operator: str, value: Any) -> dict[str, Any]:
    return {"name": "", "type": kind, "operator": operator, "rollup": "15m", "value": value}


def watched(*metrics: Any, **more: Any) -> Any:
    return {"data": {"NodeMetricsMap": {"n1": {"metrics": list(metrics), "tags": {}}}}, **more}


class TestLoadWatcher:
    def test_all_that_it_tells(self) -> None:
        answer = watched(
            metric("CPU", "AVG", 40),
            metric("CPU", "STD", 16.5),
            metric("Memory", "Latest", 50),
            metric("Bandwidth", "AVG", 99),
            timestamp=999_990,
            window={"duration": "15m", "start": 999_000, "end": 999_900},
            source="Prometheus",
        )
        load = NodeLoad(ResourceLoad(40, 16.5), ResourceLoad(50), 999_900)
        assert read_watched(body(answer), NOW) == ({"n1": load}, 0)

    @pytest.mark.parametrize(
        ("metrics", "cpu"),
        [
            pytest.param([metric("CPU", "Latest", 30), metric("CPU", "AVG", 40)], ResourceLoad(40), id="AVG wins"),
            pytest.param([metric("CPU", "AVG", 40), metric("CPU", "Latest", 30)], ResourceLoad(40), id="also as first"),
            pytest.param([metric("CPU", "", 30)], ResourceLoad(30), id="no operator is the latest"),
            pytest.param([metric("CPU", "AVG", 0)], ResourceLoad(0), id="nothing in use is a measurement, too"),
        ],
    )
    def test_which_number_counts(self, metrics: list[Any], cpu: ResourceLoad) -> None:
        loads, bad = read_watched(body(watched(*metrics)), NOW)
        assert (loads["n1"].cpu, bad) == (cpu, 0)

    @pytest.mark.parametrize(
        "metrics",
        [
            pytest.param([metric("CPU", "STD", 30)], id="only a deviation"),
            pytest.param([metric("CPU", "P99", 30)], id="another operator"),
            pytest.param([metric("cpu", "AVG", 30)], id="another spelling"),
            pytest.param([metric("CPU", "AVG", None)], id="no number"),
            pytest.param([metric("CPU", "AVG", "30")], id="a text"),
            pytest.param([metric("CPU", "AVG", 1e12)], id="a number beyond all shares"),
            pytest.param([None, 5, {}], id="no metrics"),
            pytest.param([], id="nothing"),
        ],
    )
    def test_a_node_of_which_nothing_of_use_is_said(self, metrics: list[Any]) -> None:
        assert read_watched(body(watched(*metrics)), NOW) == ({}, 1)

    @pytest.mark.parametrize(
        ("more", "until"),
        [
            pytest.param({"timestamp": 999_000}, 999_000, id="when it answered"),
            pytest.param({"window": {"end": 2_000_000}}, NOW, id="not after now"),
            pytest.param({"window": None, "timestamp": 0}, NOW, id="now, if it does not say"),
        ],
    )
    def test_when_it_was_measured(self, more: dict[str, Any], until: float) -> None:
        loads, _ = read_watched(body(watched(metric("CPU", "AVG", 1), **more)), NOW)
        assert loads["n1"].until == until

    @pytest.mark.parametrize("answer", [{}, {"data": None}, {"data": {}}, {"data": {"NodeMetricsMap": None}}])
    def test_no_nodes_at_all(self, answer: Any) -> None:
        assert read_watched(body(answer), NOW) == ({}, 0)


@pytest.mark.parametrize("read", [read_node_metrics, read_vector, lambda given: read_watched(given, NOW)])
@pytest.mark.parametrize("garbage", [b"", b"<html>", b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"null", b"5"])
def test_garbage(read: Any, garbage: bytes) -> None:
    with pytest.raises(Malformed, match="cannot be decoded"):
        read(garbage)


def test_a_time_is_in_utc() -> None:
    assert seconds_since_1970("1970-01-01T01:00:00+01:00") == 0
