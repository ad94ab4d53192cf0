"""The simulated browser, where sites look at what browsers say of themselves."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from simulation.browser import Browser, Form


def test_posts_say_where_they_come_from_and_gets_do_not() -> None:
    choices: list[tuple[str, str | None, str | None]] = []

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            choices.append((self.command, self.headers.get("Origin"), self.headers.get("Referer")))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_args: object) -> None:
            """Nothing is logged."""

    server = HTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with Browser(url, lambda: None) as browser:
        browser.get("/login")
        browser.post(Form("/login", {}, ""), {"username": "ann"})
    server.shutdown()
    server.server_close()
    assert choices == [("GET", None, None), ("POST", url, f"{url}/")]
