"""The operator's log is sentences: which profile, what about it, and why."""

from datetime import UTC, datetime

import pytest

from pilotage.config.handshake import CONFIGURATION, HASH, PLUGIN_FILES
from pilotage_operator.profiles.actions import (
    Action,
    CreateConfigMap,
    CreateProfile,
    DeleteProfile,
    PatchConfigMap,
    PatchProfile,
    PatchStatus,
    StampDeployment,
    WakeUp,
    WriteEvent,
)
from pilotage_operator.profiles.log_lines import sentence

READY = {"type": "Ready", "status": "False", "reason": "NotAccepted", "observedGeneration": 3}
FAULT = "UnknownPlugin: spec.plugins[name=Priorty]: unknown plugin; did you mean 'Priority'?"
CONDITIONS = [{"type": "Accepted", "status": "False"}, READY | {"message": FAULT}]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        pytest.param(
            PatchStatus("batch", {"metadata": {}, "status": {"conditions": CONDITIONS, "replicas": "0/2"}}),
            f"profile batch: generation 3: Ready=False, NotAccepted: {FAULT}",
            id="a condition with its reason and message",
        ),
        pytest.param(
            PatchStatus("batch", {"status": {"replicas": "1/2"}}), "profile batch: 1/2 replicas run it", id="replicas"
        ),
        pytest.param(
            PatchStatus("batch", {"status": {"lastGood": {"generation": 3, "spec": {}}}}),
            "profile batch: generation 3 is the last good spec now, and runs again if a later one fails",
            id="a trial that is over",
        ),
        pytest.param(
            PatchStatus("batch", {"status": {"lastGood": {"specHash": "x"}}}),
            "profile batch: what runs is the last good spec now, and runs again if a later one fails",
            id="a trial of the same generation",
        ),
        pytest.param(
            PatchStatus("batch", {"status": {"instance": None}}),
            "profile batch: it names another release, and this one no longer serves it",
            id="a profile that went to somebody else",
        ),
        pytest.param(
            PatchStatus("batch", {"status": {"configHash": "x"}}),
            "profile batch: its status is updated: configHash",
            id="more",
        ),
        pytest.param(
            CreateProfile({"metadata": {"name": "batch"}}),
            "profile batch: created, because it is in the values of the release",
            id="a profile of the values",
        ),
        pytest.param(
            PatchProfile("batch", {"metadata": {}, "spec": {"plugins": [], "base": "None"}}),
            "profile batch: updated from the values of the release: plugins, base",
            id="values that changed",
        ),
        pytest.param(
            PatchProfile("batch", {"metadata": {"ownerReferences": []}}),
            "profile batch: adopted by this release",
            id="a new owner",
        ),
        pytest.param(
            DeleteProfile("batch", "uid"),
            "profile batch: deleted, because it is no longer in the values of the release",
            id="a profile that the values dropped",
        ),
        pytest.param(
            CreateConfigMap(
                {"metadata": {"name": "pilotage-config", "annotations": {HASH: "abc"}}, "data": {CONFIGURATION: "x"}}
            ),
            "ConfigMap pilotage-config: created with configuration abc",
            id="the first configuration",
        ),
        pytest.param(
            PatchConfigMap({"data": {CONFIGURATION: "x"}, "metadata": {"annotations": {HASH: "abc"}}}),
            "the scheduler's ConfigMap gets configuration abc",
            id="another configuration",
        ),
        pytest.param(
            PatchConfigMap({"data": {CONFIGURATION: "x"}}),
            "the scheduler's ConfigMap gets its configuration back, which another writer had changed",
            id="a configuration that was damaged",
        ),
        pytest.param(
            PatchConfigMap({"data": {PLUGIN_FILES: "{}"}, "metadata": {"annotations": {HASH: "abc"}}}),
            "the scheduler's ConfigMap gets configuration abc",
            id="other plugin files",
        ),
        pytest.param(
            PatchConfigMap({"metadata": {"labels": {}}}),
            "the scheduler's ConfigMap gets its missing labels, annotations and records",
            id="labels that are missing",
        ),
        pytest.param(
            StampDeployment("abc"),
            "the scheduler's Deployment replaces its pods for configuration abc",
            id="new pods",
        ),
        pytest.param(WriteEvent("batch", "uid", "Normal", "Ready", "well"), "", id="an event is told elsewhere"),
        pytest.param(WakeUp(datetime.now(UTC)), "", id="time passes"),
    ],
)
def test_an_action_is_a_sentence(action: Action, expected: str) -> None:
    assert sentence(action) == expected
