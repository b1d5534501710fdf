"""Serving the page on localhost: one file, for this machine only."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ADDRESS = "127.0.0.1"


class PageServer(ThreadingHTTPServer):
    """A server of one page at `/`, and of nothing else.

    Parameters
    ----------
    page : Path
        An HTML file, which is read once.
    port : int, default 0
        Port to serve on; 0 takes any free one.
    """

    daemon_threads = True

    def __init__(self, page: Path, port: int = 0) -> None:
        self.content = page.read_bytes()
        try:
            super().__init__((ADDRESS, port), _Handler)
        except (OSError, OverflowError) as error:
            raise ValueError(f"port {port} cannot be used: {error}") from None

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = "pointforms", ""

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, body: bool) -> None:
        # refuse foreign names that resolve to this machine
        hosts = {f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}
        if self.headers.get("Host") not in hosts:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        if self.path.partition("?")[0] != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(self.server.content))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(self.server.content)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the terminal belongs to the user."""
