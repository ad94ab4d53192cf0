"""The server: reads a request, lets faults strike, checks it and its answer by the descriptions, and answers."""

import argparse
import hmac
import json
import socket
import threading
import time
from collections import deque
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from . import api, hooks, money, site, studies, submissions
from .commands import COMMANDS
from .description import descriptions
from .errors import ApiError
from .faults import Fault, Faults
from .store import Store

REMEMBERED = 20_000  # requests that the log keeps


class Lost(Exception):
    """The connection closes without an answer."""


class Server(ThreadingHTTPServer):
    """The double. One lock: a request is served wholly before the next.

    `listener` is the number of an open file: a socket that listens at the port already, held by whoever started this.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, database: Path, token: str, listener: int | None = None) -> None:
        super().__init__(("127.0.0.1", port), Handler, bind_and_activate=listener is None)
        if listener is not None:
            self.socket.close()
            self.socket = socket.socket(fileno=listener)
            self.server_address = ("127.0.0.1", port)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.token = token
        self.store = Store(database)
        self.lock = threading.RLock()
        self.faults = Faults()
        self.log: deque[dict[str, Any]] = deque(maxlen=REMEMBERED)
        self.violations: list[str] = []
        self.asked = 0  # requests, with those that the log has forgotten
        self._stopped = threading.Event()
        clock = (self.store, self.lock, self.tick, self._stopped.wait)
        threading.Thread(target=hooks.run, args=clock, daemon=True).start()

    def tick(self) -> None:
        """Do what the time has brought."""
        with self.store.transaction():
            studies.studies_tick(self.store)
            submissions.submissions_tick(self.store)
            money.settle_bonuses(self.store)

    def serve_api(
        self, method: str, path: str, query: dict[str, str], headers: Any, raw: bytes
    ) -> tuple[int, Any, dict[str, str]]:
        """The API's answer. Raises Lost where the connection closes instead."""
        entry = {"method": method, "path": path, "query": query, "at": time.time(), "status": None, "fault": None}
        self.log.append(entry)
        self.asked += 1
        text = raw.decode(errors="replace")
        fault = self.faults.of(method, path, text)
        entry["fault"] = fault.kind if fault else None
        if fault and fault.kind == "slow":
            time.sleep(fault.seconds)
        try:
            _strike_before(fault)
            body = json.loads(raw) if raw else None
            entry["body"] = body
            status, answer, more = self._answer(method, path, query, headers, body)
        except ApiError as error:
            status, answer, more = error.status, error.body(), error.headers
        except json.JSONDecodeError as error:
            status, answer, more = 400, ApiError(400, "Bad request", f"The body is not JSON: {error}").body(), {}
        entry["status"] = status
        for description in descriptions():
            wrong = description.answer(method, path, status, answer)
            self.violations += [f"{method} {path} → {status}: {sentence}" for sentence in wrong]
        if fault and fault.kind == "lost after":
            raise Lost
        if fault and fault.kind == "broken after":
            entry["status"] = fault.status
            return fault.status, ApiError(fault.status, "Server error", "Something went wrong.").body(), {}
        return status, answer, more

    def _answer(self, method: str, path: str, query: dict[str, str], headers: Any, body: Any) -> api.Answer:
        operation, names = api.find(method, path)
        credentials = headers.get("Authorization", "")
        if not path.startswith("/.well-known/") and not hmac.compare_digest(credentials, f"Token {self.token}"):
            raise ApiError(401, "Authentication failed", "Authentication credentials were not provided or are wrong.")
        wrong = [
            sentence for description in descriptions() for sentence in description.request(method, path, query, body)
        ]
        if wrong:
            raise ApiError(400, "Validation error", wrong)
        call = api.Call(self.store, self.url, path, names, query, body)
        with self.lock:
            self.tick()
            with self.store.transaction():
                return operation(call)

    def serve_site(self, method: str, target: str, form: dict[str, str], person: str) -> site.Page:
        """A participant's page."""
        address = urlsplit(target)
        with self.lock:
            self.tick()
            try:
                with self.store.transaction():
                    return site.answer(self.store, method, address.path, dict(parse_qsl(address.query)), form, person)
            except ApiError as error:
                return site.refusal(error)

    def serve_command(self, name: str, values: dict[str, Any]) -> Any:
        """What a test's command answers."""
        if name == "fault":
            return self.faults.add(**values)
        if name == "clear_faults":
            return self.faults.clear()
        if name == "counts":
            return {"requests": self.asked, "faults": self.faults.struck()}
        if name == "requests":
            return list(self.log)
        if name == "violations":
            return self.violations
        if name == "checked_by":
            return [description.name for description in descriptions()]
        with self.lock:
            if name == "reset":
                self.faults.clear()
                self.log.clear()
                self.asked = 0
                self.violations.clear()
                self.store.empty()
                return None
            self.tick()
            with self.store.transaction():
                answer = COMMANDS[name](self.store, **values)
            self.tick()
        return answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a head and its body are two writes, and a client's pause between them 40 ms
    server: Server

    def do_GET(self) -> None:
        """Serve any method."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        try:
            if address.path.startswith("/_double/"):
                self._command(address.path.removeprefix("/_double/"), raw)
            elif address.path.startswith(("/api/", "/.well-known/")):
                query = dict(parse_qsl(address.query, keep_blank_values=True))
                status, body, headers = self.server.serve_api(self.command, address.path, query, self.headers, raw)
                text = b"" if body is None else json.dumps(body).encode()
                self._send(status, text, {"Content-Type": "application/json", **headers})
            else:
                cookie = SimpleCookie(self.headers.get("Cookie", "")).get("participant")
                form = dict(parse_qsl(raw.decode()))
                page = self.server.serve_site(self.command, self.path, form, cookie.value if cookie else "")
                headers = {"Content-Type": "text/html; charset=utf-8"}
                headers |= {"Location": page.location} if page.location else {}
                headers |= {"Set-Cookie": f"participant={page.cookie}; Path=/; HttpOnly"} if page.cookie else {}
                self._send(303 if page.location else page.status, site.written(page), headers)
        except Lost:
            self.close_connection = True

    do_POST = do_PATCH = do_DELETE = do_PUT = do_GET  # noqa: N815 - the base class's names

    def log_message(self, *_args: Any) -> None:
        """Nothing: the server has a log that can be asked."""

    def _command(self, name: str, raw: bytes) -> None:
        try:
            answer = self.server.serve_command(name, json.loads(raw or b"{}"))
        except (ApiError, ValueError, KeyError, TypeError) as error:
            self._send(400, json.dumps({"refused": str(error)}).encode(), {"Content-Type": "application/json"})
        else:
            self._send(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(prog="python -m simulation.prolific", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", type=Path, required=True, help="an SQLite file, made if it is not there")
    parser.add_argument("--token", required=True, help="what Authorization: Token … must carry")
    parser.add_argument("--listener", type=int, help="the open file of a socket that listens at the port already")
    options = parser.parse_args()
    descriptions()
    Server(options.port, options.database, options.token, options.listener).serve_forever()


def _strike_before(fault: Fault | None) -> None:
    """Let a fault strike before anything is done."""
    if fault is None:
        return
    if fault.kind == "lost before":
        raise Lost
    if fault.kind == "too many":
        raise ApiError(429, "Too many requests", "Request was throttled.", Retry_After=str(int(fault.seconds)))
    if fault.kind == "broken before":
        raise ApiError(fault.status, "Server error", "Something went wrong.")
    if fault.kind == "still active":
        raise ApiError(400, "Bad request", "The submission is ACTIVE: APPROVE is not available.")
