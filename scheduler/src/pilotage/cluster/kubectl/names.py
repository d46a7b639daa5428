"""Names that the small plugin cannot import from where they are defined; a contract test compares them."""

# Annotations with which a replica reports its state on its own pod: config.handshake.
HASH, TROUBLE = "pilotage.dev/config-hash", "pilotage.dev/config-trouble"
LEADS = "pilotage.dev/leads"  # a label of the leader: app.read_api.serving
FINGERPRINT = "pilotage.dev/serving-certificate"  # an annotation: the SHA-256 of its serving certificate

# The port of the read API, and the audience of its tokens: app.options, app.read_api.serving.
API_PORT, AUDIENCE = 10260, "pilotage"

# The resource: scheduler_profiles.resource.
PROFILES_API = "/apis/pilotage.dev/v1alpha1"
PROFILES = f"{PROFILES_API}/schedulerprofiles"

# How a pod names its group: model.gangs.
GROUP_LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.pilotage.dev/name")

ACCOUNT = "system:serviceaccount:"


def subject_flag(user: str) -> str:
    """Return the flag of `kubectl create rolebinding` that names a user; "" is a user who is not known."""
    if user.startswith(ACCOUNT):
        return f"--serviceaccount={user.removeprefix(ACCOUNT)}"
    return f"--user={user or 'YOU'}"
