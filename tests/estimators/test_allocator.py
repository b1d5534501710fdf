from __future__ import annotations

from types import SimpleNamespace

import torch

from pointforms.estimators import allocator


def test_settings_last_until_the_last_user_is_done(monkeypatch):
    calls: list[tuple[int, ...]] = []
    libc = SimpleNamespace(
        mallopt=lambda parameter, value: calls.append((parameter, value)),
        malloc_trim=lambda pad: calls.append((pad,)),
    )
    monkeypatch.setattr(allocator, "_glibc", lambda: libc)
    with allocator.keep_freed_memory():
        assert calls == [(-1, 2**31 - 1), (-4, 0)]
        with allocator.keep_freed_memory():
            pass
        assert len(calls) == 2
    assert calls[2:] == [(-1, 64 << 20), (-4, 65536), (0,)]


def test_without_glibc_nothing_happens(monkeypatch):
    monkeypatch.setattr(allocator, "_glibc", lambda: None)
    with allocator.keep_freed_memory():
        assert float(torch.ones(1 << 20).sum()) == 1 << 20
