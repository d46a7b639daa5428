"""The rules of the CRD, which are written twice: each must be there both times."""

import pytest

from pilotage.scheduler_profiles import resource, sharing_fields
from pilotage.scheduler_profiles.api_rules import OF_LISTS, OF_PARTS, messages_of, messages_of_field
from pilotage.scheduler_profiles.resource import SchedulerProfile, Spec
from pilotage.scheduler_profiles.schema_parts import Part

FOUND = {**vars(resource), **vars(sharing_fields)}
PARTS = [each for each in FOUND.values() if isinstance(each, type) and issubclass(each, Part)]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_every_rule_of_a_map_has_its_python(part: type[Part]) -> None:
    if part is SchedulerProfile:
        assert len(messages_of(part)) == 2  # the length of its name, which is checked by itself
    else:
        assert len(OF_PARTS.get(part, ())) == len(messages_of(part))
    for field in part.model_fields:
        has = OF_LISTS.get(field, ()) if part is Spec else ()
        assert len(has) == len(messages_of_field(part, field))
