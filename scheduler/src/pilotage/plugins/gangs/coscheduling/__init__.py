"""Coscheduling: pods that start together or not at all."""

from pilotage.plugins.gangs.coscheduling.coscheduling import Coscheduling

__all__ = ["Coscheduling"]
