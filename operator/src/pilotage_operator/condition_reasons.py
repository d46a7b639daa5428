"""Every condition of a SchedulerProfile, every reason for it, and what to do: what the documentation is made from."""

from dataclasses import dataclass
from typing import Literal

from pilotage.config.handshake import PLUGINS_LABEL


@dataclass(frozen=True)
class Reason:
    """One word that a condition can have as its reason."""

    status: Literal["True", "False"]
    word: str
    meaning: str
    remedy: str


@dataclass(frozen=True)
class ConditionType:
    """One condition: the question that it answers, and its answers."""

    name: str
    question: str
    reasons: tuple[Reason, ...]


_NOTHING = "Nothing."
_SEE_ACCEPTED = "Do what the condition Accepted says."
_SEE_ROLLED_BACK = "Do what the condition RolledBack says."

CONDITIONS = (
    ConditionType(
        "Accepted",
        "Can the spec run at all? An edit that cannot never stops what runs.",
        (
            Reason("True", "Accepted", "It can.", _NOTHING),
            Reason(
                "False",
                "Invalid",
                "A field or an argument of a plugin is wrong; the message lists all that are.",
                "Correct what the message lists; `pilotage plugins NAME` shows a plugin's arguments.",
            ),
            Reason(
                "False",
                "UnknownPlugin",
                "The scheduler has no plugin of this name.",
                "Correct the name as the message proposes, or add the plugin's file: in `scheduler.customPlugins` of "
                f"the chart, or in a ConfigMap with the label `{PLUGINS_LABEL}`.",
            ),
            Reason(
                "False",
                "BrokenPlugin",
                "A plugin file cannot be used; the message has the file, the line and the error.",
                "Correct the file. What ran before runs on, with the file as it was.",
            ),
            Reason(
                "False",
                "ForbiddenService",
                "An extender or a source of figures may not be asked, or not be shown a credential: the file is not "
                "below the directory for credentials, the address is no https://, or the host is not listed. The "
                "scheduler does not ask it.",
                "Mount the Secret by `scheduler.credentials.secrets` and list the host in `scheduler.allowedHosts` of "
                "the chart, as the message says.",
            ),
            Reason(
                "False",
                "InlineCredentials",
                "A token, a key or a password stands in the spec, where whoever reads the profile reads it.",
                "Put it into a Secret, and refer to that as the message says. Replace it where it is accepted: others "
                "may have read it.",
            ),
            Reason(
                "False",
                "MissingPermission",
                "A plugin needs a right that the scheduler's service account does not have; the message names verb and "
                "resource.",
                "Add the plugin to `rbac.plugins` of the chart, or take it out of the profile. For a plugin of your "
                "own, add the rule that the message names to `rbac.extraRules`.",
            ),
            Reason(
                "False",
                "MissingCRD",
                "A plugin needs a resource that the cluster does not serve; the message names it.",
                "Install its CustomResourceDefinition, or take the plugin out of the profile.",
            ),
            Reason(
                "False",
                "DuplicateSchedulerName",
                "An older profile has this schedulerName, and keeps it; it may be of another release.",
                "Choose another `spec.schedulerName` (`scheduler.name` of the chart), or delete the profile that the "
                "message names.",
            ),
            Reason(
                "False",
                "DifferentQueueSort",
                "There is one queue, and the older profiles sort it with another plugin or other arguments.",
                "Sort as they do, or serve the profile with a release of its own: `spec.instance`.",
            ),
            Reason(
                "False",
                "TooManyProfiles",
                "A scheduler serves 100 profiles at the most, and there are as many older ones.",
                "Delete profiles that nobody needs, or serve this one with a release of its own: `spec.instance`.",
            ),
            Reason(
                "False",
                "TooLarge",
                "The configuration that comes of it is larger than 256 KiB.",
                "Shorten the arguments of its plugins.",
            ),
        ),
    ),
    ConditionType(
        "Applied",
        "Is the spec in the configuration that the scheduler reads?",
        (
            Reason("True", "Applied", "It is.", _NOTHING),
            Reason("False", "NotAccepted", "It cannot run, and nothing ran before it.", _SEE_ACCEPTED),
            Reason(
                "False",
                "LastGoodRunning",
                "It cannot run or was taken back; the last good spec, in `status.lastGood`, runs instead.",
                "Do what the conditions Accepted and RolledBack say.",
            ),
        ),
    ),
    ConditionType(
        "Ready",
        "Does every replica of the scheduler run the spec?",
        (
            Reason("True", "Acknowledged", "Every replica said so.", _NOTHING),
            Reason("False", "NotAccepted", "The spec cannot run.", _SEE_ACCEPTED),
            Reason(
                "False",
                "Waiting",
                "Not every replica has said so yet; `status.replicas` counts.",
                "Wait; after `spec.rollout.progressDeadlineSeconds` the last good spec comes back.",
            ),
            Reason("False", "RolledBack", "The spec was taken back.", _SEE_ROLLED_BACK),
            Reason(
                "False",
                "PluginFailing",
                "A plugin fails on every pod or takes too long, and there is no other spec to come back to.",
                "Correct or disable the plugin that the message names.",
            ),
            Reason(
                "False",
                "NoReplicas",
                "The scheduler has no replica.",
                "Scale its Deployment up, or see why its pods do not start: `kubectl describe deployment`.",
            ),
        ),
    ),
    ConditionType(
        "RolledBack",
        "Was the spec taken back? The same spec is not tried again: change it in any way to have it tried.",
        (
            Reason(
                "True",
                "Refused",
                "A replica could not build it; the message is what it said.",
                "Correct the spec.",
            ),
            Reason(
                "True",
                "NotAcknowledged",
                "Not every replica acknowledged it within the deadline.",
                "See whether the scheduler's pods run; give a slow cluster a longer "
                "`spec.rollout.progressDeadlineSeconds`.",
            ),
            Reason(
                "True",
                "PluginFailing",
                "With it a plugin failed on every pod, took too long, or stopped a replica; the message has its error.",
                "Correct or disable the plugin that the message names.",
            ),
            Reason("False", "NotRolledBack", "It was not.", _NOTHING),
        ),
    ),
    ConditionType(
        "Warning",
        "Is there something about what runs that is hardly meant? It runs all the same.",
        (
            Reason(
                "True",
                "NoFilters",
                "No plugin and no extender filters nodes, as with `base: None` alone: pods also go to nodes that are "
                "full, cordoned or tainted.",
                "Add NodeResourcesFit, TaintToleration and NodeUnschedulable to the plugins, or write "
                "`base: Kubernetes`.",
            ),
            Reason(
                "True",
                "SharedName",
                "The profile serves default-scheduler, and kube-scheduler does, too: its Lease in kube-system is "
                "renewed.",
                "Stop kube-scheduler, or choose another `spec.schedulerName`.",
            ),
            Reason("False", "NoWarning", "There is not.", _NOTHING),
        ),
    ),
    ConditionType(
        "Contended",
        "Do kubelets reject more than one in two hundred of its pods, because another scheduler uses the same nodes?",
        (
            Reason(
                "True",
                "RejectedPods",
                "They did in the last ten minutes; the message has the numbers.",
                "Give the profile nodes of its own: `spec.nodes.selector`. Where nodes must be shared, let at most one "
                "of the schedulers pack (`MostAllocated`), and raise `spec.sharing.spread`; see "
                "[sharing-nodes.md](sharing-nodes.md).",
            ),
            Reason("False", "NotContended", "They do not.", _NOTHING),
        ),
    ),
)
