"""The page on localhost."""

from __future__ import annotations

import http.client
import threading

import pytest

from pointforms.bench.page.serving import PageServer


@pytest.fixture
def server(tmp_path):
    page = tmp_path / "report.html"
    page.write_text("<p>the page")
    with PageServer(page) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


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
