"""Limits on the size of one object, so that a user who may create pods cannot delay others.

The API server accepts objects of about 1.5 MB, and a pod of that size can contain tens of thousands of terms that each
have to be evaluated on every node. The limits are far above realistic objects, and low enough that a pod at every limit
is scheduled within a few hundredths of a second on thousands of nodes. docs/operations.md documents them for users.
"""

# Of a pending pod: above any of these it is not tried, and its condition says so.
MOST_BYTES = 256 * 1024  # of the scheduling-relevant spec, which is kept for minutes; a typical pod has 1 KiB
MOST_CONTAINERS = 1_000  # kubelets have problems with a tenth of that
MOST_RESOURCES = 100  # names; each needs a column for all nodes, and a reason of its own where it is insufficient
MOST_HOST_PORTS = 1_000  # media servers use ranges of some hundreds
MOST_VOLUMES = 256  # with a disk or a claim; nodes attach a few dozen, clouds at most 256
MOST_CLAIMS = 256  # for devices
MOST_TOLERATIONS = 1_000
MOST_NODE_CONDITIONS = 1_000  # keys of nodeSelector, expressions and fields of node affinity, required or preferred
MOST_NODE_VALUES = 10_000  # of all these conditions: some users list the names of all allowed nodes
MOST_SPREADS = 32  # constraints; each counts pods in all domains
MOST_POD_TERMS = 32  # of pod affinity and anti-affinity; each counts pods in all domains, and stays for minutes
MOST_POD_CONDITIONS = 1_000  # namespaces, conditions, values and label keys of these terms and constraints together
MOST_LABELS = 1_000
MOST_OWNERS = 1_000

# Of a node: above it, only pods that tolerate everything can run there.
MOST_TAINTS = 100  # every pod is checked against all of them
