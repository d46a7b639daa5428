"""What commands print for programs (`-o json`, `-o yaml`), a type for each: docs/schemas is made of them.

Fields are added, never renamed or removed. A field without a default is always there.
"""

from typing import Any

from pilotage.views.answers import Plugins
from pilotage.views.printed.pods import Explanation, Explanations, Simulated, SimulatedExplanation
from pilotage.views.printed.profiles_and_history import Checked, Findings, History, Plugin, ProfileDiff
from pilotage.views.printed.schedulers_and_nodes import Health, TopNodes, TopShapes
from pilotage.views.printed.what_if import Queue, WhatIfShown

# Commands, and flags or arguments where they print something else.
PRINTED: dict[str, Any] = {
    "capacity": WhatIfShown,
    "check": list[Checked],
    "diff": ProfileDiff,
    "doctor": Findings,
    "drain-sim": WhatIfShown,
    "explain": Explanation | Explanations,
    "history": History,
    "plugins": list[Plugin] | Plugin,
    "queue": Queue,
    "simulate": list[Simulated] | SimulatedExplanation,
    "status": Health,
    "top-nodes": TopNodes,
    "top-plugins": Plugins,
    "top-shapes": TopShapes,
    "what-if": WhatIfShown,
}
