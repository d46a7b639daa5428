"""`pilotage explain` looks for configurations by the labels with which the operator writes them."""

from pilotage.app.explaining import WRITTEN_BY_US
from pilotage.config.handshake import CONFIGURATION
from pilotage.config.handshake import CONFIGURATION as KEY
from pilotage_operator.profiles.actions import CreateConfigMap
from pilotage_operator.profiles.config_map import change
from pilotage_operator.settings import Settings

RELEASE = Settings("ns", "release", "release-pilotage", "", "", "", "config", "")


def test_what_the_operator_writes_is_found() -> None:
    written = change(RELEASE, None, None, {CONFIGURATION: "text"}, {})
    assert isinstance(written, CreateConfigMap)
    labels = written.manifest["metadata"]["labels"]
    wanted = dict(pair.split("=") for pair in WRITTEN_BY_US["labelSelector"].split(","))
    assert wanted.items() <= labels.items()
    assert KEY in written.manifest["data"]
