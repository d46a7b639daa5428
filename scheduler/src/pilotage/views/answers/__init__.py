"""The answers of the read API, one struct each: what the server encodes is what clients decode.

Fields are added, never renamed or removed. What is empty is left out. Times are RFC 3339, amounts whole numbers of the
smallest unit: thousandths for cpu, bytes and pieces for everything else.
"""

from pilotage.views.answers.decisions import Decisions, DecisionShown
from pilotage.views.answers.errors import Status, StatusDetails, failure
from pilotage.views.answers.events import Batch, Hello, QueueChange, Resync
from pilotage.views.answers.explained import Explanation, NodeExplained, NodesExplained, PluginWeight, ScoreShown
from pilotage.views.answers.nodes import (
    CORDONED,
    HELD,
    NOMINATED,
    REPELS,
    NodeRow,
    NodeTable,
    NodeView,
    OtherPods,
    PodOnNode,
)
from pilotage.views.answers.overview import (
    Access,
    Alarm,
    Latency,
    May,
    NodeCounts,
    Overview,
    ProfileBrief,
    QueueCounts,
    ReasonCount,
    Replica,
    Series,
    Use,
)
from pilotage.views.answers.parts import (
    PREFIX,
    Change,
    Common,
    Part,
    Place,
    Position,
    Reason,
    ReasonGroup,
    RemedyShown,
    Tier,
)
from pilotage.views.answers.profiles import (
    Difference,
    PluginCost,
    PluginOfProfile,
    Plugins,
    Profile,
    ProfileDiff,
    ProfileReplica,
    Profiles,
    ProfileView,
)
from pilotage.views.answers.shares import BlockedBy, Gang, Gangs, GangView, Quotas, QuotaView, QuotaWaiting, Room
from pilotage.views.answers.waiting import AttemptShown, Estimate, PodView, Queue, QueueGroup, QueueItem

AnyAnswer = (
    Access
    | Overview
    | Queue
    | PodView
    | Explanation
    | NodeTable
    | NodeView
    | Gangs
    | Gang
    | Quotas
    | Profiles
    | Profile
    | ProfileDiff
    | Plugins
    | Decisions
)

__all__ = [
    "CORDONED",
    "HELD",
    "NOMINATED",
    "PREFIX",
    "REPELS",
    "Access",
    "Alarm",
    "AnyAnswer",
    "AttemptShown",
    "Batch",
    "BlockedBy",
    "Change",
    "Common",
    "DecisionShown",
    "Decisions",
    "Difference",
    "Estimate",
    "Explanation",
    "Gang",
    "GangView",
    "Gangs",
    "Hello",
    "Latency",
    "May",
    "NodeCounts",
    "NodeExplained",
    "NodeRow",
    "NodeTable",
    "NodeView",
    "NodesExplained",
    "OtherPods",
    "Overview",
    "Part",
    "Place",
    "PluginCost",
    "PluginOfProfile",
    "PluginWeight",
    "Plugins",
    "PodOnNode",
    "PodView",
    "Position",
    "Profile",
    "ProfileBrief",
    "ProfileDiff",
    "ProfileReplica",
    "ProfileView",
    "Profiles",
    "Queue",
    "QueueChange",
    "QueueCounts",
    "QueueGroup",
    "QueueItem",
    "QuotaView",
    "QuotaWaiting",
    "Quotas",
    "Reason",
    "ReasonCount",
    "ReasonGroup",
    "RemedyShown",
    "Replica",
    "Resync",
    "Room",
    "ScoreShown",
    "Series",
    "Status",
    "StatusDetails",
    "Tier",
    "Use",
    "failure",
]
