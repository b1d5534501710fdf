"""Serving the page on localhost: one file, for this machine only."""

from __future__ import annotations

import socket
import sys
import threading
import time
from contextlib import suppress
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ADDRESS = "127.0.0.1"


class PageServer(ThreadingHTTPServer):
    """A server of one page at `/`, and of nothing else.

    The port is taken at once, so that a page can be made after it is known that it can be served.
    Every connection ends after some seconds, whatever the other side does.

    Parameters
    ----------
    page : Path
        An HTML file, which is read when it is first asked for.
    port : int, default 0
        Port to serve on; 0 takes any free one.
    seconds : float, default 20
        Longest duration of a connection.
    most : int, default 32
        Largest number of connections at a time; one more ends the oldest.
    """

    daemon_threads = True
    request_queue_size = 128  # connections that wait to be accepted

    def __init__(self, page: Path, port: int = 0, seconds: float = 20.0, most: int = 32) -> None:
        self.page, self.seconds, self.most = page, seconds, most
        self._started: dict[Any, float] = {}  # by connection, the oldest first
        self._lock = threading.Lock()
        try:
            super().__init__((ADDRESS, port), _Handler)
        except (OSError, OverflowError) as error:
            raise ValueError(f"port {port} cannot be used: {error}") from None

    @cached_property
    def content(self) -> bytes:
        """The page."""
        return self.page.read_bytes()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own."""
        with self._lock:
            self._started[request] = time.monotonic()
            for oldest in list(self._started)[: -self.most]:
                self._hang_up(oldest)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Hang up on connections that have lasted too long; `serve_forever` calls it all the time.

        A time-out of the socket would begin again with every byte that is sent.
        """
        with self._lock:
            for request, started in list(self._started.items()):
                if time.monotonic() - started > self.seconds:
                    self._hang_up(request)

    def _hang_up(self, request: Any) -> None:
        """Let the thread of a connection end: it finds the connection closed."""
        del self._started[request]
        with suppress(OSError):  # the other side was first
            request.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._started.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about a connection that ended early."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


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
