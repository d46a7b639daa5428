"""Limits on the size of one object: a user who may create pods must not delay all others.

The API server takes objects of about 1.5 MB, and a pod of that size can name tens of thousands of things that each cost
a look at every node. The limits are far above what people and controllers write, and low enough that a pod at every
limit is decided in a few hundredths of a second on thousands of nodes. docs/operations.md has them for users.
"""

# Of a pending pod: beyond one of them it is not tried, and its condition says so.
MOST_BYTES = 256 * 1024  # of all that scheduling reads of a spec; a usual pod has 1 KiB, and this is kept for minutes
MOST_CONTAINERS = 1_000  # a kubelet gets into trouble with a tenth of that
MOST_RESOURCES = 100  # names; each is a column of numbers for all nodes, and a reason of its own where it is short
MOST_HOST_PORTS = 1_000  # media servers take ranges of some hundreds
MOST_VOLUMES = 256  # with a disk or a claim; nodes attach a few dozen, clouds at most 256
MOST_CLAIMS = 256  # for devices
MOST_TOLERATIONS = 1_000
MOST_NODE_CONDITIONS = 1_000  # keys of nodeSelector, expressions and fields of node affinity, required or preferred
MOST_NODE_VALUES = 10_000  # of these conditions together: some people list the names of all allowed nodes
MOST_SPREADS = 32  # constraints; each counts pods in all domains
MOST_POD_TERMS = 32  # of pod affinity and anti-affinity; each counts pods in all domains, and is kept up for minutes
MOST_POD_CONDITIONS = 1_000  # namespaces, conditions, values and label keys of these terms and constraints together
MOST_LABELS = 1_000
MOST_OWNERS = 1_000

# Of a node: beyond it, only pods that tolerate everything go there.
MOST_TAINTS = 100  # every pod looks at them all
