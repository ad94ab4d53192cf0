"""Install what tests of several hosts need and this machine lacks, from Debian: `python -m tests.hosts.install`."""

import os
import shutil
import subprocess

PACKAGES = {"ip": "iproute2", "pgbouncer": "pgbouncer"}


def main() -> None:
    """Install the programs that are missing, as root only. Without them, the tests of several hosts are skipped."""
    packages = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    if not packages or os.geteuid() or shutil.which("apt-get") is None:
        return
    for command in (["update", "-qq"], ["install", "-qq", "--no-install-recommends", "--yes", *packages]):
        print(f"Servers for the tests of several hosts. Running: apt-get {' '.join(command)}", flush=True)
        subprocess.run(["apt-get", *command], env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, check=False)


if __name__ == "__main__":
    main()
