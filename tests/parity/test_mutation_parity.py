"""Verdicts on mutants: the engine's, those of one pytest process for each mutant, and mutmut's.

The suites of toolz and more-itertools are read from their source distributions, in the folder CODEGYM_SDISTS (`pip
download --no-deps --no-binary :all: toolz more-itertools`). mutmut is run by the interpreter CODEGYM_MUTMUT.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from codegym.mutation import MutationEngine, generate

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
ENVIRONMENT = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
SURVIVED = ("survived", "not_covered")


@pytest.fixture(scope="module")
def bench():
    """The benchmark as a module: it knows how to run the others."""
    spec = importlib.util.spec_from_file_location("bench_mutation", BENCHMARKS / "bench_mutation.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def engine():
    with MutationEngine(workers=2) as engine:
        yield engine


def verdict_of_process(folder: Path, file: Path, text: str, tests: list[str], timeout_s: float) -> str:
    """What pytest says of a project with one file replaced."""
    copy = folder.parent / f"copy-{file.name}-{hash(text)}"
    shutil.copytree(folder, copy)
    try:
        (copy / file).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        environment = {**ENVIRONMENT, "PYTHONPATH": str(copy)}
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        shutil.rmtree(copy)
    return "survived" if done.returncode == 0 else "killed"


def differences(result, folder, file, source, tests, timeout_s=60.0):
    """Mutants on which one process for each says something else; a timeout is a kill."""
    compiled = [one for one in result.mutants if one.status != "invalid"]
    with ThreadPoolExecutor(2) as threads:
        theirs = list(
            threads.map(
                lambda one: verdict_of_process(folder, file, one.mutant.apply(source), tests, timeout_s),
                compiled,
            )
        )
    ours = ["survived" if one.status in SURVIVED else "killed" for one in compiled]
    pairs = zip(compiled, ours, theirs, strict=True)
    return [(one.mutant.id, str(one.status), their) for one, our, their in pairs if our != their]


def test_verdicts_are_those_of_one_process_for_each_mutant(bench, engine, full, tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(bench.TARGET, folder)
    mutants = generate(bench.SOURCE, operators="stronger", limit=None if full else 16).mutants
    result = engine.run(bench.SOURCE, bench.TESTS, target="minilib", mutants=mutants)
    assert result.flags == frozenset(), result.evidence
    assert differences(result, folder, Path("minilib.py"), bench.SOURCE, ["test_minilib.py"], 10.0) == []


def test_verdicts_are_those_of_mutmut(bench, engine):
    python = os.environ.get("CODEGYM_MUTMUT")
    if python is None:
        pytest.skip("no mutmut: set CODEGYM_MUTMUT to an interpreter that has mutmut 3.8.x and pytest")
    mutants = bench.mutants_of_mutmut(python)
    assert len(mutants) > 50
    theirs, _, _ = bench.by_mutmut(python)
    for mode in ("score", "matrix"):
        result, _ = bench.by_codegym(engine, mutants, mode)
        ours = {one.mutant.id: bench.coarse(str(one.status)) for one in result.mutants}
        assert ours.keys() == theirs.keys()
        assert bench.compare(ours, theirs) == []


PROJECTS = [
    ("toolz", "toolz.itertoolz", ["toolz", "tlz"], "toolz/tests"),
    ("toolz", "toolz.functoolz", ["toolz", "tlz"], "toolz/tests"),
    ("more_itertools", "more_itertools.recipes", ["more_itertools"], "tests"),
]


def unpacked(name: str, tmp_path: Path) -> Path:
    """A project's files, out of its source distribution."""
    folder = Path(os.environ.get("CODEGYM_SDISTS", BENCHMARKS.parent / "sdists"))
    archives = sorted(folder.glob(f"{name}-*.tar.gz")) if folder.is_dir() else []
    if not archives:
        pytest.skip(f"no source distribution of {name} in {folder}; set CODEGYM_SDISTS to a folder with it")
    with tarfile.open(archives[-1]) as archive:
        archive.extractall(tmp_path, filter="data")
    return next(tmp_path.glob(f"{name}-*"))


@pytest.mark.parametrize(("name", "target", "packages", "tests"), PROJECTS, ids=lambda value: str(value)[:30])
def test_suites_that_people_wrote(engine, full, tmp_path, name, target, packages, tests):
    folder = unpacked(name, tmp_path)

    def texts(*folders):
        found = {path for one in folders for path in folder.joinpath(one).rglob("*.py")}
        return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in sorted(found)}

    files = texts(tests)
    if name == "more_itertools":  # the other file alone takes ten seconds
        files = {path: text for path, text in files.items() if "test_more" not in path}
    sources = {
        path: text for path, text in texts(*packages).items() if path not in files and "/tests/" not in path
    }
    path = target.replace(".", "/") + ".py"
    mutants = generate(sources[path], limit=200 if full else 6).mutants
    result = engine.run(sources, files, target=target, mutants=mutants)
    assert result.flags == frozenset(), result.evidence
    assert len(result.baseline.passed) > 50
    wanted = [file for file in files if Path(file).name.startswith("test_")]
    assert differences(result, folder, Path(path), sources[path], wanted, 120.0) == []
