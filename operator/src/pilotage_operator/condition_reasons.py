"""All conditions of a SchedulerProfile with their reasons and remedies; the documentation is generated from this."""

from dataclasses import dataclass
from typing import Literal

from pilotage.config.handshake import PLUGINS_LABEL


@dataclass(frozen=True)
class Reason:
    """A possible reason of a condition."""

    status: Literal["True", "False"]
    word: str
    meaning: str
    remedy: str


@dataclass(frozen=True)
class ConditionType:
    """A condition: the question that it answers, and its reasons."""

    name: str
    question: str
    reasons: tuple[Reason, ...]


_NOTHING = "Nothing."
_SEE_ACCEPTED = "See the condition Accepted."
_SEE_ROLLED_BACK = "See the condition RolledBack."

CONDITIONS = (
    ConditionType(
        "Accepted",
        "Is the spec valid? An invalid edit never stops the spec that is running.",
        (
            Reason("True", "Accepted", "It can.", _NOTHING),
            Reason(
                "False",
                "Invalid",
                "A field or an argument of a plugin is invalid; the message lists all errors.",
                "Correct what the message lists; `pilotage plugins NAME` shows a plugin's arguments.",
            ),
            Reason(
                "False",
                "UnknownPlugin",
                "The scheduler has no plugin of this name.",
                "Correct the name as the message suggests, or add the plugin's file: in `scheduler.customPlugins` of "
                f"the chart, or in a ConfigMap with the label `{PLUGINS_LABEL}`.",
            ),
            Reason(
                "False",
                "BrokenPlugin",
                "A plugin file is invalid; the message has the file, the line and the error.",
                "Correct the file. The previous spec keeps running, with the previous file.",
            ),
            Reason(
                "False",
                "ForbiddenService",
                "An extender or a metrics source is not allowed, or must not receive a credential: the file is not "
                "below the credentials directory, the address is not https://, or the host is not listed. The "
                "scheduler does not call it.",
                "Mount the Secret with `scheduler.credentials.secrets` and list the host in `scheduler.allowedHosts` "
                "of the chart, as the message says.",
            ),
            Reason(
                "False",
                "InlineCredentials",
                "The spec contains a token, a key or a password, visible to all users who can read the profile.",
                "Put it into a Secret, and refer to that as the message says. Rotate the credential: others may have "
                "read it.",
            ),
            Reason(
                "False",
                "MissingPermission",
                "A plugin needs a permission that the scheduler's service account lacks; the message names verb and "
                "resource.",
                "Add the plugin to `rbac.plugins` of the chart, or remove it from the profile. For a custom "
                "plugin, add the rule in the message to `rbac.extraRules`.",
            ),
            Reason(
                "False",
                "MissingCRD",
                "A plugin needs a resource that the cluster does not serve; the message names it.",
                "Install its CustomResourceDefinition, or remove the plugin from the profile.",
            ),
            Reason(
                "False",
                "DuplicateSchedulerName",
                "An older profile, perhaps of another release, has this schedulerName and keeps it.",
                "Choose another `spec.schedulerName` (`scheduler.name` of the chart), or delete the profile that the "
                "message names.",
            ),
            Reason(
                "False",
                "DifferentQueueSort",
                "All profiles share one queue, and the older ones sort it with another plugin or other arguments.",
                "Use the same sort plugin and arguments, or serve the profile with its own release: `spec.instance`.",
            ),
            Reason(
                "False",
                "TooManyProfiles",
                "A scheduler serves at most 100 profiles, and there are 100 older ones.",
                "Delete unused profiles, or serve this one with its own release: `spec.instance`.",
            ),
            Reason(
                "False",
                "TooLarge",
                "The resulting configuration is larger than 256 KiB.",
                "Shorten the arguments of its plugins.",
            ),
        ),
    ),
    ConditionType(
        "Applied",
        "Is the spec part of the scheduler's configuration?",
        (
            Reason("True", "Applied", "It is.", _NOTHING),
            Reason("False", "NotAccepted", "It is invalid, and there is no earlier spec.", _SEE_ACCEPTED),
            Reason(
                "False",
                "LastGoodRunning",
                "It is invalid or was rolled back; the last good spec, in `status.lastGood`, runs instead.",
                "See the conditions Accepted and RolledBack.",
            ),
        ),
    ),
    ConditionType(
        "Ready",
        "Do all replicas of the scheduler run the spec?",
        (
            Reason("True", "Acknowledged", "All replicas acknowledged it.", _NOTHING),
            Reason("False", "NotAccepted", "The spec is invalid.", _SEE_ACCEPTED),
            Reason(
                "False",
                "Waiting",
                "Not all replicas have acknowledged it yet; `status.replicas` shows how many have.",
                "Wait; after `spec.rollout.progressDeadlineSeconds` the spec is rolled back.",
            ),
            Reason("False", "RolledBack", "The spec was rolled back.", _SEE_ROLLED_BACK),
            Reason(
                "False",
                "PluginFailing",
                "A plugin fails on every pod or takes too long, and there is no earlier spec to roll back to.",
                "Correct or disable the plugin that the message names.",
            ),
            Reason(
                "False",
                "NoReplicas",
                "The scheduler has no replicas.",
                "Scale up its Deployment, or find out why its pods do not start: `kubectl describe deployment`.",
            ),
        ),
    ),
    ConditionType(
        "RolledBack",
        "Was the spec rolled back? The same spec is not retried; any change to it is a new attempt.",
        (
            Reason(
                "True",
                "Refused",
                "A replica rejected it; the message is the replica's error.",
                "Correct the spec.",
            ),
            Reason(
                "True",
                "NotAcknowledged",
                "Not all replicas acknowledged it within the deadline.",
                "Check that the scheduler's pods run; on a slow cluster, raise `spec.rollout.progressDeadlineSeconds`.",
            ),
            Reason(
                "True",
                "PluginFailing",
                "A plugin failed on every pod, took too long, or blocked a replica; the message has its error.",
                "Correct or disable the plugin that the message names.",
            ),
            Reason("False", "NotRolledBack", "The spec was not rolled back.", _NOTHING),
        ),
    ),
    ConditionType(
        "Warning",
        "Does the running spec have a likely mistake? It runs anyway.",
        (
            Reason(
                "True",
                "NoFilters",
                "No plugin and no extender filters nodes, as with `base: None` alone: pods are also placed on nodes "
                "that are full, cordoned or tainted.",
                "Add NodeResourcesFit, TaintToleration and NodeUnschedulable to the plugins, or set "
                "`base: Kubernetes`.",
            ),
            Reason(
                "True",
                "SharedName",
                "The profile serves default-scheduler, and so does kube-scheduler: its Lease in kube-system is being "
                "renewed.",
                "Stop kube-scheduler, or choose another `spec.schedulerName`.",
            ),
            Reason("False", "NoWarning", "There are no warnings.", _NOTHING),
        ),
    ),
    ConditionType(
        "Contended",
        "Do kubelets reject more than one in 200 of its pods, because another scheduler uses the same nodes?",
        (
            Reason(
                "True",
                "RejectedPods",
                "Kubelets rejected pods in the last ten minutes; the message has the numbers.",
                "Give the profile nodes of its own: `spec.nodes.selector`. Where nodes must be shared, let at most one "
                "of the schedulers pack (`MostAllocated`), and raise `spec.sharing.spread`; see "
                "[sharing-nodes.md](sharing-nodes.md).",
            ),
            Reason("False", "NotContended", "Kubelets accept its pods.", _NOTHING),
        ),
    ),
)
