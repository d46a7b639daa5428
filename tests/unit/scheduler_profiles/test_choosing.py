"""Who is served, of many profiles."""

from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles import choosing
from pilotage.scheduler_profiles.checking import checked
from pilotage.scheduler_profiles.judge import Judge
from pilotage.scheduler_profiles.resource import API_VERSION, KIND


def test_a_scheduler_takes_so_many_profiles_and_refuses_the_newest(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(choosing, "MOST_PROFILES", 3)
    manifests = [
        {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": f"p{number}"}, "spec": {}} for number in range(5)
    ]
    found = {
        each.name: [complaint.reason for complaint in each.complaints] for each in checked(manifests, Judge(built_in()))
    }
    assert found == {"p0": [], "p1": [], "p2": [], "p3": ["TooManyProfiles"], "p4": ["TooManyProfiles"]}
