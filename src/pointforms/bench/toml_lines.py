"""Where things stand in a TOML file: tomllib says what was written, but not on which line."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

Path = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"(?:\s|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})'  # up to two quotes may stand before the last three
    r"|'''[\s\S]*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
_SCALAR = re.compile(r"[^,\]}\n#]*")  # numbers, booleans, and dates with a blank inside


class Fault(Exception):
    """What is wrong in a file, and where: a path of keys and of positions in lists."""

    def __init__(self, where: Path, message: str) -> None:
        super().__init__(message)
        self.where = where


def toml_lines(text: str) -> dict[Path, int]:
    """The line of every table, key and item of a list, in a text that tomllib reads.

    Paths are as in what tomllib returns: ("sweep", 1, "tasks", 0) is the first task of the second
    sweep.
    """
    return _Scanner(text).lines


def line_of(lines: dict[Path, int], where: Path) -> int:
    """The line of a path; where it is not in the file, of the innermost block that is."""
    while where and where not in lines:
        where = where[:-1]
    return lines.get(where, 1)


class _Scanner:
    """One pass over a valid text; `at` is the position that is read next."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.ends = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[Path, int] = {}
        self.tables: dict[Path, int] = {}  # how many [[...]] of a name there are so far
        table: Path = ()
        while self._peek(_BETWEEN):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _peek(self, skipped: re.Pattern[str]) -> str:
        """The next character behind what is skipped, "" at the end."""
        self._take(skipped)
        return self.text[self.at : self.at + 1]

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:  # not TOML: tomllib has refused it before
            raise ValueError(f"line {self._line()}: cannot be read")
        self.at = match.end()
        return match.group()

    def _line(self) -> int:
        return bisect_right(self.ends, self.at - 1) + 1

    def _header(self) -> Path:
        line, double = self._line(), self.text.startswith("[[", self.at)
        self.at += 2 if double else 1
        keys = self._keys()
        self.at += 2 if double else 1
        path: Path = ()
        for i, key in enumerate(keys):
            path = self._mark((*path, key), line)
            if double and i == len(keys) - 1:
                self.tables[path] = self.tables.get(path, 0) + 1
            if path in self.tables:
                path = self._mark((*path, self.tables[path] - 1), line)
        return path

    def _pair(self, table: Path) -> None:
        line, path = self._line(), table
        for key in self._keys():
            path = self._mark((*path, key), line)
        self.at += 1  # =
        self._value(path)

    def _keys(self) -> list[str]:
        """The parts of a dotted key; `at` is left behind it and the blanks that follow."""
        keys = []
        while True:
            if self._peek(_BLANK) in "\"'":
                keys.append(str(tomllib.loads(f"key = {self._take(_STRING)}")["key"]))
            else:
                keys.append(self._take(_BARE_KEY))
            if self._peek(_BLANK) != ".":
                return keys
            self.at += 1

    def _value(self, path: Path) -> None:
        first = self._peek(_BLANK)
        if first in ("'", '"'):
            self._take(_STRING)
        elif first not in ("[", "{"):
            self._take(_SCALAR)
        else:
            self.at += 1
            index = 0
            while self._peek(_BETWEEN) not in ("]", "}"):
                if first == "[":
                    self._value(self._mark((*path, index), self._line()))
                else:
                    self._pair(path)
                if self._peek(_BETWEEN) == ",":
                    self.at += 1
                index += 1
            self.at += 1

    def _mark(self, path: Path, line: int) -> Path:
        self.lines.setdefault(path, line)
        return path
