"""What kubelets write about pods that they do not take, of this and other releases, and what anybody else might."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.model.kubelet_rejection import OUT_OF_KNOWN, WITHOUT_NUMBERS, KubeletRejection, read_rejection
from pilotage.model.quantity import LARGEST

NUMBERS = "requested: 500, used: 1900, capacity: 2000"
OLD = f"Pod Node didn't have enough resource: cpu, {NUMBERS}"
NOW = f"Pod was rejected: Node didn't have enough resource: cpu, {NUMBERS}"


@pytest.mark.parametrize(
    ("reason", "message", "found"),
    [
        pytest.param("OutOfcpu", NOW, ("cpu", 500, 1900, 2000), id="a kubelet of today"),
        pytest.param("OutOfcpu", OLD, ("cpu", 500, 1900, 2000), id="an older one"),
        pytest.param(
            "OutOfcpu", "capacity 2000, used 1900, requested 500", ("cpu", 500, 1900, 2000), id="another order"
        ),
        pytest.param("OutOfpods", "used: 110, capacity: 110", ("pods", None, 110, 110), id="a number is missing"),
        pytest.param("OutOfexample.com/gpu", "", ("example.com/gpu", None, None, None), id="no words at all"),
        pytest.param("OutOfmemory", f"used: {LARGEST + 1}", ("memory", None, None, None), id="more than there can be"),
        pytest.param("OutOfmemory", "used: 1.5", ("memory", None, None, None), id="not a whole number"),
        pytest.param("OutOfmemory", "used: -5", ("memory", None, None, None), id="less than nothing"),
        pytest.param("OutOfmemory", "used: ٣", ("memory", None, None, None), id="a digit of another script"),
        pytest.param(
            "OutOfcpu", " " * 4096 + NOW, ("cpu", None, None, None), id="numbers that nobody looks for so late"
        ),
        pytest.param("NodePorts", "Node didn't have free ports", ("", None, None, None), id="a reason without numbers"),
        pytest.param("TopologyAffinityError", NOW, ("", None, None, None), id="numbers where none belong"),
    ],
)
def test_a_race_is_read(reason: str, message: str, found: tuple[str, int | None, int | None, int | None]) -> None:
    assert read_rejection(reason, message) == KubeletRejection(reason, *found)


@pytest.mark.parametrize(
    "reason",
    [
        *("", "Evicted", "NodeShutdown", "NodeAffinity", "Preempting", "PodOSNotSupported", "outofcpu", "OOMKilled"),
        *("OutOf", "OutOf" + "x" * 400, "OutOf\x00cpu", "OutOf\ncpu"),
    ],
)
def test_no_race_is_behind_other_reasons(reason: str) -> None:
    assert read_rejection(reason, NOW) is None


@given(st.text() | st.text().map("OutOf{}".format), st.text())
def test_whatever_is_written_is_read_as_one_of_a_few(reason: str, message: str) -> None:
    found = read_rejection(reason, message)
    if found is not None:
        assert found.label in OUT_OF_KNOWN | WITHOUT_NUMBERS | {"OutOfExtendedResources"}
        assert all(number is None or 0 <= number <= LARGEST for number in (found.requested, found.used, found.capacity))
        assert found.free is None or found.free >= 0
