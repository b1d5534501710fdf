"""What is published: the wheel, the source distribution, and the files that repeat their facts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
import yaml

from pointforms import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
#: Names that conda-forge spells differently from PyPI.
CONDA_NAMES = {"lazy_loader": "lazy-loader", "torch": "pytorch"}


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    recipe = yaml.safe_load((ROOT / "conda" / "recipe" / "recipe.yaml").read_text("utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changes, re.MULTILINE)
    assert newest
    assert citation["version"] == recipe["context"]["version"] == newest[1] == __version__
    assert str(citation["date-released"]) == newest[2]


def test_the_conda_recipe_asks_for_the_same_packages():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe" / "recipe.yaml").read_text("utf-8"))
    wanted = set()
    for requirement in PROJECT["dependencies"]:
        name, bound = re.fullmatch(r"(\w[\w-]*)(>=.*)", requirement).groups()
        wanted.add(f"{CONDA_NAMES.get(name, name)} {bound}")
    assert wanted == {r for r in recipe["requirements"]["run"] if not r.startswith("python ")}
    oldest = recipe["context"]["python_min"]
    assert PROJECT["requires-python"] == f">={oldest}"
    (script,) = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(script)]


def test_the_workflow_tests_every_python_of_the_classifiers():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8"))
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    prefix = "Programming Language :: Python :: "
    named = [c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(f"{prefix}3.")]
    assert tested == named
    makefile = (ROOT / "Makefile").read_text("utf-8")
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    targets = [match[1] for s in steps if (match := re.match(r"make (\S+)", s.get("run", "")))]
    assert {"check", "test", "docs", "dist"} <= set(targets)
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a copy of the repository, so that nothing is left in it and nothing old is packed."""
    pytest.importorskip("build")
    pytest.importorskip("setuptools", minversion="77")
    source, out = tmp_path_factory.mktemp("source") / "repository", tmp_path_factory.mktemp("dist")
    caches = ("__pycache__", ".*_cache", ".hypothesis", ".git", ".venv")
    made = ("*.egg-info", "build", "dist", "site", "demo")
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*caches, *made))
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=out)
    assert result.returncode == 0, result.stdout + result.stderr
    return out


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_nothing_else(dist):
    (wheel,) = dist.glob("*.whl")
    assert wheel.name == f"pointforms-{__version__}-py3-none-any.whl"
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    own = {
        path.relative_to(source).as_posix()
        for path in (source / "pointforms").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "pointforms/py.typed" in own
    assert own == {name for name in packed if not name.startswith("pointforms-")}


@pytest.mark.slow
def test_the_wheel_says_what_it_needs_and_how_it_is_licensed(dist):
    (wheel,) = dist.glob("*.whl")
    info = f"pointforms-{__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = message_from_bytes(archive.read(f"{info}/METADATA"))
        scripts = archive.read(f"{info}/entry_points.txt").decode()
        assert archive.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_all("Classifier") == PROJECT["classifiers"]
    needed = metadata.get_all("Requires-Dist")
    assert len([r for r in needed if "extra ==" not in r]) == len(PROJECT["dependencies"])
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert "npf = pointforms.cli.app:app" in scripts


@pytest.mark.slow
def test_the_source_distribution_can_be_tested(dist):
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    needed = ("Makefile", "constraints.txt", "CITATION.cff", "docs/index.md", "tests/conftest.py")
    assert set(needed) <= names
    tests = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")}
    assert tests <= names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


@pytest.mark.slow
def test_twine_accepts_both(dist):
    pytest.importorskip("twine")
    files = sorted(map(str, dist.iterdir()))
    assert len(files) == 2
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("PASSED") == 2
