"""What a single plugin uses lies in its package."""

from collections.abc import Mapping

import pytest

from rooms.lodgers import Lodger, lodgers

SHARED, OWN, DEEP = "pilotage.framework.api.shared", "pilotage.framework.api.own", "pilotage.framework.api.deep"
FIT, FIT_PART, PORTS = (
    "pilotage.plugins.resources.fit",
    "pilotage.plugins.resources.fit.part",
    "pilotage.plugins.nodes.ports",
)
LOOP = "pilotage.scheduling.loop"


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        pytest.param({FIT: [OWN]}, [Lodger(OWN, FIT)], id="one plugin alone"),
        pytest.param(
            {FIT: [OWN], OWN: [DEEP]}, [Lodger(DEEP, FIT), Lodger(OWN, FIT)], id="through another module, too"
        ),
        pytest.param({FIT_PART: [OWN]}, [Lodger(OWN, FIT)], id="a part of a plugin's package is that plugin"),
        pytest.param({FIT: [SHARED], PORTS: [SHARED]}, [], id="two plugins share it"),
        pytest.param({FIT: [OWN], LOOP: [OWN]}, [], id="the engine uses it, too"),
        pytest.param({LOOP: [OWN]}, [], id="the engine alone"),
        pytest.param({FIT: [OWN], LOOP: [SHARED], SHARED: [OWN]}, [], id="the engine uses it through another module"),
    ],
)
def test_lodgers(imports: Mapping[str, list[str]], expected: list[Lodger]) -> None:
    modules = {*imports, *(name for names in imports.values() for name in names)}
    assert lodgers(modules, lambda name: imports.get(name, [])) == expected
