"""The process that rewrites kernels while a program runs."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest

from gpudx.lab import rewriting_service


def test_its_path_is_there_only_once_questions_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is started in between would be refused, and run without checks."""
    with tempfile.TemporaryDirectory(prefix="gpudx-") as folder:  # a socket's path is short
        path, seen = str(Path(folder) / "socket"), list[bool]()

        class Listener(socket.socket):
            def listen(self, backlog: int = 0, /) -> None:
                seen.append(os.path.exists(path))
                super().listen(backlog)

        monkeypatch.setattr(rewriting_service.socket, "socket", Listener)
        with rewriting_service.listening(path), socket.socket(socket.AF_UNIX) as asking:
            asking.connect(path)
            assert seen == [False] and os.listdir(folder) == ["socket"]
