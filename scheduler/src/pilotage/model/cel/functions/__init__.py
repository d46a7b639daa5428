"""The functions of expressions, a module for each subject; importing this declares all of them."""

from pilotage.model.cel.calls import FUNCTIONS
from pilotage.model.cel.functions import (
    conversions,
    formats,
    formatting,
    lists,
    networks,
    optionals,
    quantities,
    regex,
    sets,
    strings,
    times,
    versions,
)

SUBJECTS = (
    *(conversions, formats, formatting, lists, networks, optionals),
    *(quantities, regex, sets, strings, times, versions),
)
DECLARED = FUNCTIONS
