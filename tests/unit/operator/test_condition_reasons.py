"""The table of conditions, from which their documentation is made."""

import re
from pathlib import Path

import pytest

from pilotage import scheduler_profiles
from pilotage.scheduler_profiles.choosing import DIFFERENT_QUEUE_SORT, DUPLICATE, TOO_MANY
from pilotage.scheduler_profiles.judge import BROKEN_PLUGIN, INVALID, TOO_LARGE, UNKNOWN_PLUGIN
from pilotage.scheduler_profiles.services import FORBIDDEN_SERVICE, INLINE_CREDENTIALS
from pilotage_operator import profiles
from pilotage_operator.condition_reasons import CONDITIONS, ConditionType
from pilotage_operator.profiles.rights import MISSING_CRD, MISSING_PERMISSION
from pilotage_operator.profiles.rollout import NOT_ACKNOWLEDGED, PLUGIN_FAILING, REFUSED
from pilotage_operator.profiles.unwise import NO_FILTERS, SHARED_NAME

FOLDERS = (Path(str(package.__file__)).parent for package in (profiles, scheduler_profiles))
SOURCES = {path.name: path.read_text() for folder in FOLDERS for path in folder.glob("*.py")}
EACH = pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.name)


def test_there_is_one_of_each_condition() -> None:
    names = ["Accepted", "Applied", "Ready", "RolledBack", "Warning", "Contended"]
    assert [condition.name for condition in CONDITIONS] == names


@EACH
def test_its_reasons_are_words_and_tell_true_from_false(condition: ConditionType) -> None:
    words = [reason.word for reason in condition.reasons]
    assert len(words) == len(set(words))
    assert all(re.fullmatch("([A-Z][A-Za-z]*)+", word) for word in words)
    assert {reason.status for reason in condition.reasons} == {"True", "False"}


@EACH
def test_every_reason_says_what_it_means_and_what_to_do(condition: ConditionType) -> None:
    for reason in condition.reasons:
        assert reason.meaning.endswith(".")
        assert reason.remedy.endswith((".", "`.", "`"))


def test_what_the_operator_says_is_in_the_table() -> None:
    table = {(reason.status, reason.word) for condition in CONDITIONS for reason in condition.reasons}
    said = set(re.findall(r'(True|False), "([A-Z][A-Za-z]+)"', SOURCES["conditions.py"]))
    assert len(said) >= 8
    assert said <= table


def test_why_a_spec_is_not_accepted_or_was_taken_back_is_in_the_table() -> None:
    words = {
        (condition.name, reason.status): {each.word for each in condition.reasons if each.status == reason.status}
        for condition in CONDITIONS
        for reason in condition.reasons
    }
    assert words["Accepted", "False"] == {
        *(INVALID, UNKNOWN_PLUGIN, BROKEN_PLUGIN, TOO_LARGE),
        *(MISSING_CRD, MISSING_PERMISSION),
        *(FORBIDDEN_SERVICE, INLINE_CREDENTIALS),
        *(DUPLICATE, DIFFERENT_QUEUE_SORT, TOO_MANY),
    }
    assert words["RolledBack", "True"] == {REFUSED, NOT_ACKNOWLEDGED, PLUGIN_FAILING}
    assert words["Warning", "True"] == {NO_FILTERS, SHARED_NAME}


@EACH
def test_what_is_in_the_table_is_said_by_the_operator(condition: ConditionType) -> None:
    for reason in condition.reasons:
        assert any(f'"{reason.word}"' in source for source in SOURCES.values())
