"""The functions of expressions, a module for each subject; importing this declares all of them."""

from pilotage.model.cel.calls import FUNCTIONS
from pilotage.model.cel.functions import conversions, lists, optionals, quantities, regex, sets, strings, versions

SUBJECTS = (conversions, lists, optionals, quantities, regex, sets, strings, versions)
DECLARED = FUNCTIONS
