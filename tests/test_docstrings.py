"""Docstrings of public names: numpydoc form, one entry per parameter, and an example that runs.

A name is public when a public module lists it in `__all__`. The examples themselves run as doctests
(`--doctest-modules`), so this file only checks that they exist.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from typing import Any

import pytest
from tests.helpers.public_names import PUBLIC_MODULES, public_objects

# Words of prose: a type slot that has one of them explains instead of naming a type.
PROSE = re.compile(r"\b(the|which|how|where|what|is|are|by|as|their|its|given)\b")
ENTRY = re.compile(r"^(?P<name>\*{0,2}\w+)(?: : (?P<type>.+))?$")
DEFAULT = re.compile(r"\bdefault:?\s+(?P<value>.+)$")


OBJECTS = public_objects()
each_public_object = pytest.mark.parametrize("name", sorted(OBJECTS))


def sections(text: str) -> dict[str, str]:
    """Sections of a numpydoc docstring by their titles; the text before the first is ""."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(text) + "\n", flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(text: str) -> dict[str, tuple[str, str]]:
    """Type and description of every entry of a section, by its name."""
    parsed: dict[str, tuple[str, str]] = {}
    name = ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            match = ENTRY.match(line)
            assert match, f"{line!r} is not of the form 'name : type'"
            name = match["name"].lstrip("*")
            parsed[name] = (match["type"] or "", "")
        elif line.strip():
            kind, description = parsed[name]
            parsed[name] = (kind, f"{description} {line.strip()}".strip())
    return parsed


def parameters(value: Any) -> dict[str, inspect.Parameter]:
    """Parameters that a caller can pass."""
    if inspect.isclass(value) and value.__init__ is object.__init__:
        return {}
    try:
        signature = inspect.signature(value)
    except ValueError:  # a class whose constructor is not written in Python
        return {}
    return {
        name: parameter
        for name, parameter in signature.parameters.items()
        if name not in ("self", "cls") and not name.startswith("_")
    }


def documented_parameters(value: Any) -> dict[str, tuple[str, str]]:
    """Entries of a docstring for parameters; records may list theirs as attributes."""
    parts = sections(value.__doc__ or "")
    return entries(parts.get("Attributes", "")) | entries(parts.get("Parameters", ""))


def check_first_line(name: str, value: Any) -> None:
    text = inspect.cleandoc(value.__doc__ or "")
    assert text, f"{name} has no docstring"
    first = text.splitlines()[0]
    assert first[0].isupper() or not first[0].isalpha(), f"{name}: {first!r} starts in lower case"
    assert first.endswith("."), f"{name}: {first!r} does not end with a period"


@each_public_object
def test_the_first_line_is_a_sentence(name):
    check_first_line(name, OBJECTS[name])


@pytest.mark.parametrize("name", sorted(n for n, v in OBJECTS.items() if inspect.isclass(v)))
def test_public_methods_say_what_they_do(name):
    for method, member in vars(OBJECTS[name]).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if not method.startswith("_") and inspect.isfunction(function):
            check_first_line(f"{name}.{method}", function)


@each_public_object
def test_every_parameter_has_an_entry_of_its_own(name):
    expected, documented = parameters(OBJECTS[name]), documented_parameters(OBJECTS[name])
    missing = [parameter for parameter in expected if parameter not in documented]
    assert not missing, f"{name} does not document {', '.join(missing)}"
    if "Parameters" in sections(OBJECTS[name].__doc__):
        named = entries(sections(OBJECTS[name].__doc__)["Parameters"])
        unknown = [entry for entry in named if entry not in expected]
        assert not unknown, f"{name} documents {', '.join(unknown)}, which it does not take"


@each_public_object
def test_the_type_slot_holds_a_type(name):
    documented = documented_parameters(OBJECTS[name])
    entries_of = {p: documented.get(p, ("", "")) for p in parameters(OBJECTS[name])}
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    untyped = [
        parameter
        for parameter, (kind, _) in entries_of.items()
        if not kind and parameters(OBJECTS[name])[parameter].kind not in starred
    ]
    assert not untyped, f"{name}: no type for {', '.join(untyped)}"
    undescribed = [parameter for parameter, (_, text) in entries_of.items() if not text]
    assert not undescribed, f"{name}: no description of {', '.join(undescribed)}"
    for parameter, (kind, _) in entries_of.items():
        words = re.sub(r"""".*?"|'.*?'|`.*?`|\(.*?\)""", "", kind)
        assert not PROSE.search(words), f"{name}: the type of {parameter} is prose: {kind!r}"


@each_public_object
def test_documented_defaults_are_the_defaults(name):
    documented = documented_parameters(OBJECTS[name])
    for parameter, signature in parameters(OBJECTS[name]).items():
        kind = documented.get(parameter, ("", ""))[0]
        has_default = signature.default is not inspect.Parameter.empty
        if not kind or not has_default or repr(signature.default) == "<factory>":
            continue
        told = DEFAULT.search(kind)
        if told is None:
            allowed = signature.default is None and "optional" in kind
            assert allowed, f"{name}: {parameter} does not say its default, {signature.default!r}"
            continue
        try:
            value = ast.literal_eval(told["value"].strip("`"))
        except (ValueError, SyntaxError):
            continue  # a constant by its name, or a value that is computed
        assert value == signature.default, f"{name}: {parameter} is {signature.default!r}: {kind!r}"


@each_public_object
def test_there_is_an_example(name):
    assert ">>>" in sections(OBJECTS[name].__doc__ or "").get("Examples", ""), (
        f"{name} has no Examples section with >>>"
    )


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_public_modules_list_their_names(module):
    assert importlib.import_module(module).__all__


def test_a_gap_is_reported():
    def undocumented(count: int = 3) -> None:
        """does something

        Parameters
        ----------
        count : how many there are
        """

    with pytest.raises(AssertionError, match="lower case"):
        check_first_line("x", undocumented)
    assert entries(sections(undocumented.__doc__)["Parameters"]) == {
        "count": ("how many there are", "")
    }
    assert PROSE.search("how many there are")
    with pytest.raises(AssertionError, match="form 'name : type'"):
        entries("alpha, beta : float")
