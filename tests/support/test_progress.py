from __future__ import annotations

from pointforms.support.progress import track


def test_nothing_is_shown_unless_asked_for(capsys):
    for total, show in ((3, False), (0, True)):
        with track(total, "fits", show, unit="fits") as advance:
            advance(total)
    assert capsys.readouterr() == ("", "")


def test_progress_without_a_terminal_is_one_line_per_minute(capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr("pointforms.support.progress.time.monotonic", lambda: now)
    with track(100, "fits", unit="fits") as advance:
        advance(40)  # done before
        assert capsys.readouterr().err == ""
        now = 60.0
        advance(10)
        now = 120.0
        advance(10)
        now = 130.0
        advance(10)
        now = 140.0
        advance(30)
    printed = capsys.readouterr()
    first, second, last = printed.err.splitlines()
    # steps that were done before do not count for the speed
    assert first == "fits: 50 of 100 fits in 1.0 min, 10 per minute, about 5.0 min left"
    assert second == "fits: 60 of 100 fits in 2.0 min, 10 per minute, about 4.0 min left"
    assert last == "fits: 100 of 100 fits in 2.3 min"
    assert printed.out == ""
