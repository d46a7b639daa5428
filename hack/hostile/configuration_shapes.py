"""Configurations, as the operator renders them from the profiles of many authors."""

import json
from random import Random

from hostile.scene import CONFIG, config_map
from hostile.shapes import Shape
from pilotage.testing import Manifest

PROFILE = "- {schedulerName: s%d}\n"


def _profiles(size: int, _random: Random) -> list[Manifest]:
    return [config_map(CONFIG % "" + "".join(PROFILE % i for i in range(size)))]


def _arguments(size: int, _random: Random) -> list[Manifest]:
    terms = [{"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]} for i in range(size)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return [_with_arguments("NodeAffinity", {"addedAffinity": required})]


def _resources(size: int, _random: Random) -> list[Manifest]:
    resources = [{"name": f"example.com/r{i}", "weight": 100} for i in range(size)]
    return [
        _with_arguments("NodeResourcesFit", {"scoringStrategy": {"type": "LeastAllocated", "resources": resources}})
    ]


def _with_arguments(plugin: str, arguments: Manifest) -> Manifest:
    profile = {"schedulerName": "s", "pluginConfig": [{"name": plugin, "args": arguments}]}
    return config_map(CONFIG % "" + f"- {json.dumps(profile)}\n")  # JSON is YAML


SHAPES = [
    Shape("configuration: profiles", 2_000, _profiles, is_short=True),
    Shape("configuration: added affinity", 10_000, _arguments),
    Shape("configuration: resources to score", 10_000, _resources),
]
