"""What the proxy meets in Compose, without containers: a name that several addresses of this machine answer to."""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.tied import tied

REPOSITORY = Path(__file__).parents[2]


class Names(threading.Thread):
    """A DNS server for one name, as Docker has one: it answers with what is in `addresses` at that moment."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.addresses: list[str] = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.socket.getsockname()[1]}"

    def run(self) -> None:
        """Answer until the socket is closed."""
        while True:
            try:
                query, client = self.socket.recvfrom(512)
            except OSError:
                return
            end = query.index(0, 12) + 5  # the end of the question: its name, type and class
            is_a = query[end - 4 : end - 2] == b"\0\1"
            answers = [
                b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(address) for address in self.addresses if is_a
            ]
            counts = b"\0\1" + len(answers).to_bytes(2, "big") + bytes(4)
            self.socket.sendto(query[:2] + b"\x85\x80" + counts + query[12:end] + b"".join(answers), client)

    def close(self) -> None:
        self.socket.close()


class Container:
    """gunicorn with its settings for containers, at an address of its own; its application says where it is."""

    loading_seconds = 0

    def __init__(self, names: Names, address: str, port: int, folder: Path) -> None:
        self.names, self.address, self.port = names, address, port
        self.log = folder / f"{address}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and have the name at once, as with Docker. Returns when connections are taken."""
        command = [sys.executable, "-m", "gunicorn", "--config", str(REPOSITORY / "docker" / "gunicorn.conf.py")]
        command += ["--bind", f"{self.address}:{self.port}", "tests.config.answering:application"]
        environment = os.environ | {"WEB_WORKERS": "2", "WEB_THREADS": "4", "ADDRESS": self.address}
        environment["LOADING_SECONDS"] = str(self.loading_seconds)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(tied(command), cwd=REPOSITORY, env=environment, stdout=log, stderr=log)
        self.names.addresses.append(self.address)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex((self.address, self.port)) == 0:
                    break
            time.sleep(0.05)

    def stop(self) -> None:
        """Be told to end, as Docker does it; the name is lost once that is done."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)
            self.process = None
            self.names.addresses.remove(self.address)
