"""Records an edited plugin on its way to the next pod on a real control plane, and draws it as SVG."""

import sys
import tempfile
from datetime import datetime
from pathlib import Path

import click

from kit.control_plane import control_plane, name_for_this_run
from localcluster.binaries import DEFAULT_KUBERNETES
from localcluster.errors import Problem
from localcluster.paths import REPOSITORY
from recording.play import play
from recording.terminal import Line, picture

PICTURE = REPOSITORY / "docs" / "plugin-live.svg"
UNABLE = 2


@click.command()
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), default=PICTURE, help="The output file.")
def main(output: Path) -> None:
    """Play it on a control plane with fake nodes, which is gone afterwards."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            own = Path(folder)
            with control_plane(f"{name_for_this_run()}-recording", own / "kubeconfig") as plane:
                lines = play(plane, own)
    except Problem as problem:
        click.echo(f"ERROR: {problem}", err=True)
        sys.exit(UNABLE)
    day = datetime.now().astimezone().strftime("%Y-%m-%d")
    title = f"An edited plugin goes live: Kubernetes v{DEFAULT_KUBERNETES}, two replicas, {day}"
    output.write_text(picture(title, told(lines), lines), encoding="utf-8")
    for line in lines:
        click.echo(f"{'' if line.seconds is None else f'{line.seconds:.2f}':>8}  {line.text}")


def told(lines: list[Line]) -> str:
    """Return the commands and what they said, for those who cannot see the picture."""
    return "\n".join(line.text if line.seconds is None else f"{line.seconds:.2f} s: {line.text}" for line in lines)


if __name__ == "__main__":
    main()
