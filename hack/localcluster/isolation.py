"""What the keeper of the full shape does to its own mount namespace before anything starts in it."""

from pathlib import Path

from localcluster.shell import run

# The kubelet sets these for the whole machine; it is shown files that already have its values.
KUBELET_SETTINGS = {
    "kernel/keys/root_maxbytes": "25000000",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
}
# Fixed paths where containerd, the kubelet and CNI plugins leave files: theirs are thrown away with the namespace.
PRIVATE_FOLDERS = ("/run", "/var/log", "/var/lib/cni")
# Of these, what a machine may not have: made for the first cluster, removed after the last.
MADE_FOLDERS = ("/var/lib/cni",)


def isolate(folder: Path) -> None:
    """Hide the machine's shared folders and settings behind the cluster's own."""
    # Volumes that a container mounts for others must be seen by those others.
    run("mount", "--make-rshared", "/")
    for private in PRIVATE_FOLDERS:
        run("mount", "-t", "tmpfs", "tmpfs", private)
    Path("/run/lock").mkdir()
    shown = folder / "settings"
    shown.mkdir(exist_ok=True)
    for setting, value in KUBELET_SETTINGS.items():
        file = shown / setting.replace("/", ".")
        file.write_text(f"{value}\n")
        run("mount", "--bind", str(file), f"/proc/sys/{setting}")


def make_folders() -> None:
    """Make the mount points that this machine does not have."""
    for made in MADE_FOLDERS:
        Path(made).mkdir(exist_ok=True)


def remove_made_folders() -> None:
    """Remove the mount points that were made on the machine, unless something else uses them.

    Not while a cluster runs: to remove a folder is to unmount it in every namespace that has a mount there.
    """
    for made in MADE_FOLDERS:
        path = Path(made)
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
