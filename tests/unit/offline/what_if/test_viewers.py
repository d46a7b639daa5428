"""What of an answer somebody sees who may not see everything."""

import json
from typing import Any

from kit.what_if_ground import ask, deployment, running
from pilotage.offline.what_if.answer import ELSEWHERE, WhatIfAnswer, as_data
from pilotage.testing import make_node, make_pod


def the_answer() -> WhatIfAnswer:
    cluster = [
        make_node("secret-node", cpu="4"),
        make_node("other-node", cpu="1"),
        running("foreign-low", "secret-node", namespace="foreign", owner="foreign-web", cpu="2", priority=-1),
        running("foreign-moves", "other-node", namespace="foreign", owner="foreign-web", cpu="1"),
        make_pod("foreign-waits", namespace="foreign", cpu="1", priority=-2),
    ]
    changes: list[dict[str, Any]] = [
        {"add": {"manifests": [deployment(namespace="mine", replicas=4, priority=5)]}},
        {"drain": {"nodes": ["other-node"]}},
    ]
    return ask(cluster, *changes, ask=["placements", "evictions", "others", "fill"])


def everything(answer: WhatIfAnswer) -> str:
    return json.dumps(as_data(answer))


def cut(text: str) -> str:
    return text.partition("-node")[0] if "-node" in text else text


def test_an_administrator_sees_all_of_it() -> None:
    answer = the_answer()
    told = everything(answer.seen_by(True, lambda _namespace: True, lambda text: text))
    assert told == everything(answer)
    for name in ("secret-node", "foreign-low", "foreign-moves", "foreign-web"):
        assert name in told


def test_pods_of_other_namespaces_are_counted_and_not_named() -> None:
    seen = the_answer().seen_by(True, lambda namespace: namespace == "mine", lambda text: text)
    told = everything(seen)
    assert "foreign" not in told
    assert ELSEWHERE in told
    assert "a pod of another namespace" in told
    assert "Deployment mine/web" in told


def test_without_the_right_to_list_nodes_there_are_no_names_of_nodes() -> None:
    seen = the_answer().seen_by(False, lambda _namespace: True, cut)
    told = everything(seen)
    assert "secret-node" not in told
    assert "other-node" not in told
    assert seen.pods.asked > 0
    assert seen.shapes[0].placed > 0
