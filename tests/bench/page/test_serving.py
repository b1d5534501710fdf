"""The page on localhost."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from pointforms.bench.page.serving import PageServer


@contextmanager
def serving(folder, **limits):
    page = folder / "report.html"
    page.write_text("<p>the page")
    with PageServer(page, **limits) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as found:
        yield found


def connect(server, count):
    """Connections whose requests do not end."""
    with ExitStack() as stack:
        address = ("127.0.0.1", server.server_port)
        found = [stack.enter_context(socket.create_connection(address, 10)) for _ in range(count)]
        for connection in found:
            connection.sendall(b"GET / HTTP/1.0\r\nHost:")
        stack.pop_all()
    return found


def wait_until(true):
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def ask(server, path="/", method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_only_the_page_is_served_and_only_here(server):
    assert server.server_address[0] == "127.0.0.1"
    assert ask(server) == (200, b"<p>the page")
    assert ask(server, "/?x=1")[0] == 200
    assert ask(server, method="HEAD") == (200, b"")
    for path in ("/report.html", "/../", "/etc/passwd"):
        assert ask(server, path)[0] == 404
    assert ask(server, method="POST")[0] == 501
    assert ask(server, host="example.org")[0] == 403
    assert ask(server, host=f"localhost:{server.server_port}")[0] == 200


def test_a_port_that_is_taken_is_told(server, tmp_path):
    with pytest.raises(ValueError, match=f"port {server.server_port} cannot be used"):
        PageServer(tmp_path / "report.html", server.server_port)


def test_half_open_connections_end(tmp_path, capfd):
    before = threading.active_count()
    with serving(tmp_path, seconds=0.1) as server:
        silent = connect(server, 20)
        wait_until(lambda: threading.active_count() == before + 1)  # the server's own
        for connection in silent:
            assert connection.recv(1) == b""
            connection.close()
        assert ask(server) == (200, b"<p>the page")
    assert capfd.readouterr().err == ""


def test_a_connection_that_goes_on_sending_ends_too(tmp_path):
    with serving(tmp_path, seconds=0.1) as server:
        (drip,) = connect(server, 1)
        ended = []

        def send():
            try:
                drip.sendall(b"x")
            except OSError:
                ended.append(True)
            return ended

        wait_until(send)
        drip.close()


def test_connections_are_bounded_and_the_newest_is_answered(tmp_path):
    before = threading.active_count()
    with serving(tmp_path, most=4) as server:
        silent = connect(server, 30)
        wait_until(lambda: threading.active_count() <= before + 1 + 4)
        assert ask(server) == (200, b"<p>the page")
        for connection in silent:
            connection.close()
        wait_until(lambda: threading.active_count() == before + 1)
