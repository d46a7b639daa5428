"""Where two decisions about one pod differ, as far as kube-scheduler leaves nothing to chance."""

import json
import re
from collections.abc import Iterable, Mapping

from oracle.decision import Decision

PLACEMENT = re.compile(r"found a potential placement for pod on node \S+, preempting \d+ victims")


def differences(real: Decision, ours: Decision) -> list[str]:
    """One sentence per difference, each starting with what differs; empty when ours is as good as the real one."""
    return [
        *_feasible(real, ours),
        *_scores(real, ours),
        *_node(real, ours),
        *_unequal("reason", real.reason, ours.reason),
        *_message(real, ours),
        *_unequal("rejectors", _listed(real.rejectors), _listed(ours.rejectors)),
        *_preemption(real, ours),
        *_claims(real, ours),
    ]


def subjects_of(found: Iterable[str]) -> frozenset[str]:
    """What differs, without how."""
    return frozenset(sentence.split(":")[0].split(" of ")[0] for sentence in found)


def _feasible(real: Decision, ours: Decision) -> list[str]:
    more, less = sorted(ours.feasible - real.feasible), sorted(real.feasible - ours.feasible)
    found = [f"feasible: ours has {', '.join(more)} and the real one has not"] if more else []
    return found + ([f"feasible: ours lacks {', '.join(less)}"] if less else [])


def _scores(real: Decision, ours: Decision) -> list[str]:
    found = []
    for plugin in sorted({*real.scores, *ours.scores}):
        found += _numbers(f"score of {plugin}", real.scores.get(plugin, {}), ours.scores.get(plugin, {}))
    return found + _numbers("total", real.totals, ours.totals)


def _numbers(what: str, real: Mapping[str, int], ours: Mapping[str, int]) -> list[str]:
    unlike = [node for node in sorted({*real, *ours}) if real.get(node) != ours.get(node)]
    return [f"{what}: on {node} the real one says {real.get(node)}, ours {ours.get(node)}" for node in unlike]


def _node(real: Decision, ours: Decision) -> list[str]:
    if ours.node == real.node or (real.node and ours.node in real.best):
        return []
    return [f"node: the real one takes {real.node} (best: {_listed(real.best)}), ours {ours.node}"]


def _message(real: Decision, ours: Decision) -> list[str]:
    said, expected = ours.message, real.message
    if _is_as_good(real, ours):
        said, expected = PLACEMENT.sub("", said), PLACEMENT.sub("", expected)
    return _unequal("message", expected, said)


def _preemption(real: Decision, ours: Decision) -> list[str]:
    if _is_as_good(real, ours):
        return []
    victims = _unequal("victims", _listed(real.victims), _listed(ours.victims))
    return [*_unequal("nominated", real.nominated, ours.nominated), *victims]


def _claims(real: Decision, ours: Decision) -> list[str]:
    if real.node != ours.node:
        return []
    found = []
    for name in sorted({*real.claims, *ours.claims}):
        theirs, our = real.claims.get(name, {}), ours.claims.get(name, {})
        for part in sorted({*theirs, *our}):
            if theirs.get(part) != our.get(part):
                said = f"the real one says {json.dumps(theirs.get(part))}, ours {json.dumps(our.get(part))}"
                found.append(f"{part} of claim {name}: {said}")
    return found


def _is_as_good(real: Decision, ours: Decision) -> bool:
    """Whether both evict, and the real one took an eviction that ours found equally good."""
    return bool(real.victims) and ours.equally_good.get(real.nominated) == real.victims


def _unequal(what: str, real: str, ours: str) -> list[str]:
    return [] if real == ours else [f"{what}: the real one says {real!r}, ours {ours!r}"]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
