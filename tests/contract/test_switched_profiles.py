"""`pilotage profile` knows what takes part without an entry."""

import pytest

from pilotage.app.profile_entry import base_of
from pilotage.config.load import load
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.render import configuration, profile_of
from pilotage.scheduler_profiles.resource import Spec


@pytest.mark.parametrize("spec", [{}, {"base": "None"}], ids=["the default plugins", "no base"])
def test_who_takes_part_without_an_entry(spec: dict[str, str]) -> None:
    rendered = configuration([profile_of("batch", Spec.model_validate(spec), built_in())], [], "idle")
    [profile] = load(rendered, built_in()).config.profiles
    assert profile.plugins is not None
    taking_part = {plugin.name for plugin in profile.plugins.multi_point.enabled}
    assert taking_part == base_of(spec)
