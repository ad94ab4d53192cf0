"""Hosts on one machine: network namespaces at one switch, each with an address, whose link can be cut.

They share the machine's files and clock, and nothing of its network. Needs root, and `ip` of iproute2.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.ports import free_port
from tests.tied import tied

# Networks that nobody routes: 198.18.0.0/15 is for measuring network devices.
SUBNET = "198.18.{number}"
OURS = 254  # the address of this machine at the switch ends so


def lacking() -> str:
    """Why this machine cannot have such hosts; empty if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "hosts are network namespaces of Linux, which root makes"
    if shutil.which("ip") is None:
        return "ip is not installed (apt-get install iproute2)"
    try:
        with network([]):
            return ""
    except subprocess.CalledProcessError as error:
        return f"no network namespace can be made: {error.stderr.strip()}"


def ip(*arguments: str) -> None:
    """Run `ip`. Raises CalledProcessError."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Host:
    """A namespace with programs. `log` has what these write."""

    def __init__(self, switch: str, name: str, address: str, folder: Path) -> None:
        self.name, self.address = name, address
        self.folder = folder / name
        self.folder.mkdir()
        self.folder.chmod(0o777)  # some programs run as another account
        self.log = self.folder / "log"
        self._switch, self._space = switch, f"{switch}-{name}"
        self._processes: list[subprocess.Popen[bytes]] = []

    def join(self) -> None:
        """Make the namespace, and plug it in."""
        _make_space(self._space)
        cable = ("type", "veth", "peer", "name", self.name, "netns", self._switch)
        ip("link", "add", "eth0", "netns", self._space, *cable)
        ip("-n", self._switch, "link", "set", self.name, "master", "switch", "up")
        for command in ("addr add {}/24 dev eth0", "link set lo up", "link set eth0 up"):
            ip("-n", self._space, *command.format(self.address).split())

    def start(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        *,
        account: str = "",
        folder: Path = Path("/"),
    ) -> subprocess.Popen[bytes]:
        """Start a program here, as another account if one is named. It ends with this process."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                tied(self._inside(command, account)),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=folder,
            )
        self._processes.append(process)
        return process

    def run(self, command: Sequence[str | Path], *, account: str = "") -> str:
        """Run a program here to its end. What it printed. Raises CalledProcessError."""
        done = subprocess.run(self._inside(command, account), capture_output=True, text=True, cwd="/", check=False)
        assert done.returncode == 0, f"{self.name}: {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def cut(self) -> None:
        """Let nothing in or out any more, without a word to anybody."""
        ip("-n", self._switch, "link", "set", self.name, "down")

    def mend(self) -> None:
        """Plug it in again."""
        ip("-n", self._switch, "link", "set", self.name, "up")

    def end(self) -> None:
        """Tell its programs to end, and wait until they have."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(60)
        self._processes.clear()

    def kill(self) -> None:
        """End all that runs here at once."""
        done = subprocess.run(["ip", "netns", "pids", self._space], capture_output=True, text=True, check=False)
        for pid in done.stdout.split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        for process in self._processes:
            process.wait(30)
        self._processes.clear()

    def crash(self) -> None:
        """Cut it off, then kill it: nobody hears that its connections have ended."""
        self.cut()
        self.kill()

    def leave(self) -> None:
        """Kill all that runs here, and take the namespace away."""
        self.kill()
        _remove("netns", self._space)

    def _inside(self, command: Sequence[str | Path], account: str) -> list[str | Path]:
        become = []
        if account:
            person = pwd.getpwnam(account)
            options = f"--reuid {person.pw_uid} --regid {person.pw_gid} --clear-groups --pdeathsig TERM"
            become = ["setpriv", *options.split(), "--"]
        return ["ip", "netns", "exec", self._space, *become, *command]


class Network(dict[str, Host]):
    """Hosts by name. `address` is where they find this machine."""

    address = ""


@contextmanager
def network(names: Sequence[str], folder: Path = Path()) -> Iterator[Network]:
    """Hosts at a switch of their own until the block ends."""
    number = free_port() % 250  # several may run on this machine
    switch, subnet = f"hosts{number}", SUBNET.format(number=number)
    hosts = Network()
    hosts.address = f"{subnet}.{OURS}"
    try:
        _remove("link", switch)
        _make_space(switch)
        ip("-n", switch, "link", "add", "switch", "type", "bridge")
        ip("-n", switch, "link", "set", "switch", "up")
        ip("link", "add", switch, "type", "veth", "peer", "name", "machine", "netns", switch)
        ip("-n", switch, "link", "set", "machine", "master", "switch", "up")
        ip("addr", "add", f"{hosts.address}/24", "dev", switch)
        ip("link", "set", switch, "up")
        for last, name in enumerate(names, start=1):
            hosts[name] = Host(switch, name, f"{subnet}.{last}", folder)
            hosts[name].join()
        yield hosts
    finally:
        for host in hosts.values():
            host.leave()
        _remove("link", switch)
        _remove("netns", switch)


def _make_space(name: str) -> None:
    _remove("netns", name)  # of a run that was killed
    ip("netns", "add", name)


def _remove(what: str, name: str) -> None:
    subprocess.run(["ip", what, "del", name], capture_output=True, check=False)
