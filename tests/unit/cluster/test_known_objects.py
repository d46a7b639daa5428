"""What counts as news, and what a sink is told."""

import logging
from collections.abc import Iterable
from typing import Any

import pytest

from pilotage.cluster.watch.known_objects import MOST_PASSED, KnownObjects, key_of, version_number
from pilotage.cluster.watch.watch_events import ObjectIdentity, UndecodableObject
from pilotage.kinds.workloads import Namespace
from pilotage.model.metadata import Metadata


class Diary:
    """A sink that writes down what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def added(self, new: Namespace) -> None:
        self.lines.append(f"added {_short(new)}")

    def updated(self, old: Namespace, new: Namespace) -> None:
        self.lines.append(f"updated {_short(old)} to {_short(new)}")

    def deleted(self, last: Namespace) -> None:
        self.lines.append(f"deleted {_short(last)}")

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        self.lines.append(f"undecodable {metadata.name}/{metadata.uid}@{metadata.resource_version}: {reason}")

    def vanished(self, metadata: ObjectIdentity) -> None:
        self.lines.append(f"vanished {metadata.name}/{metadata.uid}@{metadata.resource_version}")


def _short(given: Namespace) -> str:
    return f"{given.metadata.name}/{given.metadata.uid}@{given.metadata.resource_version}"


def state(text: str) -> Namespace:
    """Return an object from name/uid@version."""
    name, _, rest = text.partition("/")
    uid, _, version = rest.partition("@")
    return Namespace(Metadata(name=name, uid=uid, resource_version=version))


def identity(text: str) -> ObjectIdentity:
    given = state(text).metadata
    return ObjectIdentity(given.name, "", given.uid, given.resource_version)


def known_after(*events: str, outlasting: str = "") -> tuple[KnownObjects[Namespace], Diary]:
    diary = Diary()
    known = KnownObjects(diary, lambda given: given.metadata.name == outlasting)
    for event in events:
        tell(known, event)
    return known, diary


def tell(known: KnownObjects[Namespace], event: str) -> bool:
    """Tell one event: + for a state, - for a deletion, ? for a state that cannot be decoded."""
    match event[0]:
        case "+":
            return known.put(state(event[1:]))
        case "-":
            return known.remove(identity(event[1:]))
        case _:
            return known.lose(UndecodableObject(identity(event[1:]), "why"))


@pytest.mark.parametrize(
    ("events", "told"),
    [
        pytest.param(["+a/1@5"], ["added a/1@5"], id="the first state is an addition"),
        pytest.param(["+a/1@5", "+a/1@6"], ["added a/1@5", "updated a/1@5 to a/1@6"], id="the next one is an update"),
        pytest.param(["+a/1@5", "-a/1@6"], ["added a/1@5", "deleted a/1@5"], id="a deletion gives back what was told"),
        pytest.param(["+a/1@5", "-a/1@5"], ["added a/1@5", "deleted a/1@5"], id="a deletion may have the last version"),
        pytest.param(["+a/1@5", "+a/1@5"], ["added a/1@5"], id="a repetition is dropped"),
        pytest.param(["+a/1@10", "+a/1@9"], ["added a/1@10"], id="an older state is dropped, 9 being less than 10"),
        pytest.param(["-a/1@5"], [], id="the deletion of something unknown is nothing"),
        pytest.param(
            ["+a/1@5", "+a/2@7"],
            ["added a/1@5", "deleted a/1@5", "added a/2@7"],
            id="another uid is another object of the same name",
        ),
        pytest.param(
            ["+a/1@5", "+a/2@7", "-a/1@6"],
            ["added a/1@5", "deleted a/1@5", "added a/2@7"],
            id="the late deletion of the former one does not touch the present one",
        ),
        pytest.param(["+a/2@7", "+a/1@5"], ["added a/2@7"], id="a late state of the former one does not bring it back"),
        pytest.param(
            ["+a/1@5", "-a/2@9"],
            ["added a/1@5", "deleted a/1@5"],
            id="when a later one of the same name is gone, so is the former",
        ),
        pytest.param(
            ["+a/1@5", "-a/1@7", "+a/1@6"],
            ["added a/1@5", "deleted a/1@5"],
            id="a late state after the deletion does not bring it back",
        ),
        pytest.param(["-a/1@7", "+a/1@6"], [], id="not even when the deletion was the first to be heard"),
        pytest.param(
            ["+a/1@5", "-a/1@7", "+a/1@8"],
            ["added a/1@5", "deleted a/1@5", "added a/1@8"],
            id="an object that comes back into the selection is an addition",
        ),
        pytest.param(
            ["+a/1@5", "-a/1@7", "+a/1@8", "-a/1@7"],
            ["added a/1@5", "deleted a/1@5", "added a/1@8"],
            id="and the repeated deletion does not take it away again",
        ),
        pytest.param(
            ["+a/1@x9", "+a/1@x8"],
            ["added a/1@x9", "updated a/1@x9 to a/1@x8"],
            id="versions that are no numbers have no order: the later news wins",
        ),
        pytest.param(["+a/1@x9", "-a/2@x8"], ["added a/1@x9"], id="without an order, a deletion needs the same uid"),
        pytest.param(["+a/1@x9", "-a/1@x8"], ["added a/1@x9", "deleted a/1@x9"], id="and is believed with it"),
        pytest.param(
            ["+a/1@5", "?a/1@6"],
            ["added a/1@5", "deleted a/1@5", "undecodable a/1@6: why"],
            id="an object that cannot be decoded any more counts as deleted",
        ),
        pytest.param(["+a/1@5", "?a/1@4"], ["added a/1@5"], id="unless that was long ago"),
        pytest.param(
            ["?a/1@5", "+a/1@4", "+a/1@6"],
            ["undecodable a/1@5: why", "added a/1@6"],
            id="it comes back with a newer state that can be decoded, not with an older one",
        ),
        pytest.param(["?a/1@5", "?a/1@5"], ["undecodable a/1@5: why"], id="it is told once"),
        pytest.param(["?a/1@5", "-a/1@6"], ["undecodable a/1@5: why", "vanished a/1@5"], id="when it is gone, too"),
        pytest.param(["?a/1@5", "-a/1@4"], ["undecodable a/1@5: why"], id="unless a former one of its name is meant"),
        pytest.param(
            ["?a/1@5", "?a/1@6"],
            ["undecodable a/1@5: why", "undecodable a/1@6: why"],
            id="and again when there is something else that cannot be decoded",
        ),
    ],
)
def test_events(events: list[str], told: list[str]) -> None:
    assert known_after(*events)[1].lines == told


def test_what_cannot_be_decoded_is_known_for_as_long_as_it_exists() -> None:
    known, _ = known_after("?a/1@5", "?b/1@5", "?c/1@5", "+b/1@6", "-c/1@4")
    assert set(known.undecodable) == {"a", "c"}
    tell(known, "-c/1@6")
    assert set(known.undecodable) == {"a"}


def test_only_news_are_news() -> None:
    known, _ = known_after("+a/1@5")
    assert [tell(known, event) for event in ("+a/1@5", "?a/1@5", "-a/1@4")] == [False] * 3
    assert known.duplicates == 3
    assert [tell(known, event) for event in ("+a/1@6", "-a/1@7", "-b/1@8")] == [True] * 3
    assert known.duplicates == 3


def test_memory_of_deletions_is_bounded() -> None:
    known, diary = known_after(*(f"-a{number}/1@{number}" for number in range(1, MOST_PASSED + 2)))
    assert [tell(known, event) for event in ("+a2/1@1", "+a1/1@1")] == [False, True]
    assert diary.lines == ["added a1/1@1"]


LISTS = [
    pytest.param([], ["+a/1@5"], ["added a/1@5"], id="everything is new at first"),
    pytest.param(["+a/1@5"], ["+a/1@5"], [], id="what has not changed is not told"),
    pytest.param(["+a/1@5"], ["+a/1@6"], ["updated a/1@5 to a/1@6"], id="what has changed is told"),
    pytest.param(["+a/1@5"], [], ["deleted a/1@5"], id="what is missing was deleted"),
    pytest.param(["+a/1@5"], ["+a/2@6"], ["deleted a/1@5", "added a/2@6"], id="another uid is another object"),
    pytest.param(["+a/1@9"], ["+a/1@5"], ["updated a/1@9 to a/1@5"], id="a list is believed even if it is older"),
    pytest.param(
        ["+a/1@5", "+b/1@5"], ["+c/1@6", "+b/1@5"], ["added c/1@6", "deleted a/1@5"], id="deletions are told last"
    ),
    pytest.param(["+a/1@"], ["+a/1@"], ["updated a/1@ to a/1@"], id="without a version nothing is unchanged"),
    pytest.param(
        ["+a/1@5"],
        ["?a/1@6"],
        ["deleted a/1@5", "undecodable a/1@6: why"],
        id="what cannot be decoded any more counts as deleted",
    ),
    pytest.param(["?a/1@5"], ["?a/1@5"], ["undecodable a/1@5: why"], id="what still cannot be decoded is told once"),
    pytest.param(
        ["?a/1@5"], ["?a/1@6"], ["undecodable a/1@5: why", "undecodable a/1@6: why"], id="and again when it changes"
    ),
    pytest.param(["?a/1@5"], ["+a/1@6"], ["undecodable a/1@5: why", "added a/1@6"], id="and added once it can be"),
    pytest.param(["?a/1@5"], [], ["undecodable a/1@5: why", "vanished a/1@5"], id="and let go once it is missing"),
]


@pytest.mark.parametrize(("before", "listed", "told"), LISTS)
async def test_lists(before: Iterable[str], listed: Iterable[str], told: list[str]) -> None:
    known, diary = known_after(*before)
    first = len([line for line in diary.lines if line.startswith("added")])
    found, _ = known_after(*listed)
    await known.replace(found, "20")
    assert diary.lines[first:] == told
    assert set(known.objects) == set(found.objects)
    assert set(known.undecodable) == set(found.undecodable)


async def test_nothing_up_to_the_version_of_a_list_is_news() -> None:
    known, diary = known_after("+a/1@5")
    await known.replace(KnownObjects(), "20")
    assert [tell(known, event) for event in ("+a/1@19", "+b/1@20", "?c/1@7")] == [False] * 3
    assert tell(known, "+a/2@21")
    assert diary.lines == ["added a/1@5", "deleted a/1@5", "added a/2@21"]


async def test_a_list_from_before_a_restore_makes_lower_versions_news_again() -> None:
    known, _ = known_after("+a/1@50", "-a/1@51")
    await known.replace(KnownObjects(), "20")
    assert tell(known, "+a/1@21")


def test_a_sink_that_raises_loses_that_change_only(caplog: pytest.LogCaptureFixture) -> None:
    known, diary = known_after()

    def fail(new: Any) -> None:
        raise RuntimeError("full")

    diary.added = fail  # type: ignore[method-assign]
    with caplog.at_level(logging.ERROR):
        assert tell(known, "+a/1@5")
    assert (known.sink_errors, set(known.objects)) == (1, {"a"})
    assert "cannot process a change: 'a'" in caplog.text
    assert "full" in caplog.text
    tell(known, "+a/1@6")
    assert diary.lines == ["updated a/1@5 to a/1@6"]


@pytest.mark.parametrize(
    ("version", "number"),
    [
        ("7", 7),
        ("0", 0),
        ("", -1),
        ("x7", -1),
        ("-7", -1),
        ("7 ", -1),
        ("1_0", -1),
        ("\u0667", -1),
        ("\u00b2", -1),
        ("9" * 40, -1),
    ],
)
def test_versions(version: str, number: int) -> None:
    assert version_number(version) == number


def test_keys() -> None:
    assert key_of(Metadata(name="a", namespace="x")) == "x/a"
    assert key_of(Metadata(name="a")) == "a"


class TestWhatOutlastsAStateThatCannotBeUnderstood:
    """A pod that has a node takes its room, whatever is written on it."""

    @pytest.mark.parametrize(
        ("events", "told"),
        [
            pytest.param(["?a/1@6"], ["undecodable a/1@6: why"], id="the last state counts on"),
            pytest.param(["?a/1@6", "?a/1@6"], ["undecodable a/1@6: why"], id="a repetition is dropped"),
            pytest.param(
                ["?a/1@6", "+a/1@7"],
                ["undecodable a/1@6: why", "updated a/1@5 to a/1@7"],
                id="the next one is an update",
            ),
            pytest.param(["?a/1@8", "+a/1@7"], ["undecodable a/1@8: why"], id="one from before is no news"),
            pytest.param(
                ["?a/1@6", "-a/1@7"],
                ["undecodable a/1@6: why", "deleted a/1@5", "vanished a/1@6"],
                id="when it is gone, the last state is given back",
            ),
            pytest.param(
                ["?a/2@6"],
                ["deleted a/1@5", "undecodable a/2@6: why"],
                id="another one of that name takes nothing over",
            ),
        ],
    )
    def test_news(self, events: list[str], told: list[str]) -> None:
        _, diary = known_after("+a/1@5", *events, outlasting="a")
        assert diary.lines == ["added a/1@5", *told]

    @pytest.mark.parametrize(
        ("listed", "told", "left"),
        [
            pytest.param(["?a/1@6"], ["undecodable a/1@6: why"], {"a"}, id="listed as it cannot be decoded"),
            pytest.param(["+a/1@6"], ["updated a/1@5 to a/1@6"], {"a"}, id="listed as it can"),
            pytest.param(["?a/2@6"], ["deleted a/1@5", "undecodable a/2@6: why"], set(), id="another one of that name"),
            pytest.param([], ["deleted a/1@5"], set(), id="gone"),
        ],
    )
    async def test_lists(self, listed: list[str], told: list[str], left: set[str]) -> None:
        known, diary = known_after("+a/1@5", outlasting="a")
        for _ in range(2):  # the second time nothing is news
            await known.replace(known_after(*listed)[0], "9")
        assert diary.lines == ["added a/1@5", *told]
        assert set(known.objects) == left
