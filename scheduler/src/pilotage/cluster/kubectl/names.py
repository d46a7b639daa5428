"""Names that the small plugin spells by itself, since it cannot import who owns them; a contract test compares."""

# What a replica says about itself on its own pod: config.handshake.
HASH, TROUBLE = "pilotage.dev/config-hash", "pilotage.dev/config-trouble"
LEADS = "pilotage.dev/leads"  # a label of the replica that leads: app.read_api.serving
FINGERPRINT = "pilotage.dev/serving-certificate"  # an annotation: the SHA-256 of the certificate that it shows

# Where a replica serves the read API, and for whom the tokens are that it accepts: app.options, app.read_api.serving.
API_PORT, AUDIENCE = 10260, "pilotage"

# The resource: scheduler_profiles.resource.
PROFILES_API = "/apis/pilotage.dev/v1alpha1"
PROFILES = f"{PROFILES_API}/schedulerprofiles"

# How a pod names its group: model.gangs.
GROUP_LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.pilotage.dev/name")
