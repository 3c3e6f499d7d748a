"""No kernel is taken from the cache that was compiled from other sources, or otherwise."""

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from models.kernel_cache import PACKAGES, kernel_sources

ROOT = Path(__file__).parents[2]
CALLED = """
from models.kernel import kernel
ADDED = 1.0

@kernel
def read_at(array, i):
    return array[i] + ADDED
"""
CALLER = """
from models.called import ADDED, read_at
from models.kernel import kernel

@kernel
def total(array, n):
    total = ADDED
    for i in range(n):
        total += read_at(array, i)
    return total
"""
RUN = """
import numpy as np
from evaluation.caller import total
print(total(np.arange(8.0)[:4], {n}), sum(total.stats.cache_hits.values()))
"""


@pytest.fixture
def tree(tmp_path):
    """The real modules that compile kernels, and two kernels, one of which calls the other."""
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    for name in ("kernel.py", "kernel_cache.py"):
        shutil.copy(ROOT / "models" / name, tmp_path / "models")
    (tmp_path / "models" / "called.py").write_text(CALLED)
    (tmp_path / "evaluation" / "caller.py").write_text(CALLER)
    return tmp_path


def run(folder, code=RUN, n=4, **variables):
    """The sum that a new process computes, and how many of its kernels were in the cache.
    Python's own cache is left out: it takes a file of the same second and size for the same.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"} | variables
    command = [sys.executable, "-c", code.format(n=n)]
    settings = {"capture_output": True, "text": True}
    done = subprocess.run(command, cwd=folder, env=environment, check=False, **settings)
    if done.returncode:
        raise RuntimeError(done.stderr)
    total, hits = done.stdout.split()
    return float(total), int(hits)


def cached(folder):
    return {path.name for path in folder.rglob("*.nb[ic]")}


def edit(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_change_of_a_kernel_recompiles_those_that_call_it(tree):
    assert (run(tree), run(tree)) == ((11.0, 0), (11.0, 1))
    before = cached(tree)
    assert len(before) == 4  # an index and a compiled form of each
    edit(tree / "models" / "called.py", "array[i] + ADDED", "array[i] * 2.0")
    assert (run(tree), run(tree), len(cached(tree))) == ((13.0, 0), (13.0, 1), 4)
    assert not cached(tree) & before, "what no longer holds is deleted"
    edit(tree / "models" / "called.py", "ADDED = 1.0", "ADDED = 2.0")
    assert run(tree) == (14.0, 0)
    edit(tree / "models" / "kernel.py", '"contract", ', "")
    assert (run(tree), len(cached(tree))) == ((14.0, 0), 4)


def test_kernels_that_move_within_their_file_leave_nothing_behind(tree):
    """numba has line numbers in the names of cached files."""
    run(tree)
    for path in (tree / "models" / "called.py", tree / "evaluation" / "caller.py"):
        path.write_text("# another line\n" + path.read_text())
    assert (run(tree), len(cached(tree))) == ((11.0, 0), 4)


def test_the_same_content_finds_its_kernels_whatever_the_time(tree):
    run(tree)
    for path in tree.rglob("*.py"):
        os.utime(path, (1e9, 1e9))
    (tree / "models" / "other.py").write_text("NO_KERNEL = 1\n")
    assert run(tree) == (11.0, 1)


def test_code_that_checks_bounds_is_never_mixed_with_code_that_does_not(tree):
    assert run(tree, n=5) == (16.0, 0)  # of four: what lies behind them in memory is read
    with pytest.raises(RuntimeError, match="IndexError: index is out of bounds"):
        run(tree, n=5, NUMBA_BOUNDSCHECK="1")
    assert (run(tree, NUMBA_BOUNDSCHECK="1"), run(tree, n=5)) == ((11.0, 1), (16.0, 1))
    assert len(cached(tree)) == 8


def test_a_process_whose_sources_change_leaves_no_kernel_of_the_old_ones(tree):
    called = tree / "models" / "called.py"
    change = """
from pathlib import Path
path = Path("models/called.py")
path.write_text(path.read_text().replace("+ ADDED", "* 2.0"))
"""
    assert run(tree, "import evaluation.caller" + change + RUN) == (11.0, 0)  # as it was imported
    assert run(tree) == (13.0, 0)
    edit(called, "* 2.0", "+ ADDED")
    assert run(tree) == (11.0, 0)
    digest = "from models.kernel_cache import kernel_sources\nkernel_sources()"
    assert run(tree, digest + change + RUN) == (13.0, 0)  # imported after the digest was made
    edit(called, "* 2.0", "+ ADDED")
    assert run(tree) == (11.0, 1)


def test_other_folders_for_the_cache(tree):
    chosen, home = tree / "chosen", tree / "home"
    assert run(tree, NUMBA_CACHE_DIR=str(chosen)) == (11.0, 0)
    assert cached(chosen) == cached(tree) != set()
    assert run(tree, NUMBA_CACHE_DIR=str(chosen)) == (11.0, 1)
    shutil.rmtree(chosen)
    for package in PACKAGES:  # as in an installation that cannot be written to
        (tree / package / "__pycache__").touch()
    variables = {"XDG_CACHE_HOME": str(home), "HOME": str(home)}
    assert (run(tree, **variables), run(tree, **variables)) == ((11.0, 0), (11.0, 1))
    edit(tree / "models" / "called.py", "array[i] + ADDED", "array[i] * 2.0")
    assert (run(tree, **variables), len(cached(home))) == ((13.0, 0), 4)


def test_sources_that_cannot_be_read_leave_it_to_numba(tree):
    packed = tree / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(tree.rglob("*.py")):
            archive.write(path, path.relative_to(tree))
    for package in PACKAGES:
        shutil.rmtree(tree / package)
    variables = {"XDG_CACHE_HOME": str(tree), "HOME": str(tree), "PYTHONPATH": str(packed)}
    assert (run(tree, **variables), run(tree, **variables)) == ((11.0, 0), (11.0, 1))


def test_without_the_compiler_kernels_are_python(tree):
    code = RUN.replace("sum(total.stats.cache_hits.values())", "total.__code__.co_argcount")
    assert (run(tree, code, NUMBA_DISABLE_JIT="1"), cached(tree)) == ((11.0, 2), set())


def modules():
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path, ast.parse(path.read_text("utf-8"))


def decorators_of(node):
    return {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}


def names_in(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def test_all_that_kernels_are_made_of_is_in_files_with_kernels():
    """Kernels, those that they call, and constants, of which a compiled kernel has the value."""
    sources, n_kernels = {Path(path) for path in kernel_sources().stamps}, 0
    for path, module in modules():
        functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
        kernels = [node for node in functions if {"kernel", "exact_kernel"} & decorators_of(node)]
        n_kernels += len(kernels)
        assert not kernels or path in sources, path
        used = set().union(*(names_in(statement) for each in kernels for statement in each.body))
        assigned = [each for each in module.body if isinstance(each, ast.Assign | ast.AnnAssign)]
        for each in reversed(assigned):  # what constants are computed from
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            if each.value is not None and used & set().union(*map(names_in, targets)):
                used |= names_in(each.value)
        for each in ast.walk(module):
            if isinstance(each, ast.ImportFrom) and used & {a.asname or a.name for a in each.names}:
                assert not each.level, "which file it is, is told by the absolute name only"
                name = each.module or ""
                if name.partition(".")[0] in {"corpora", *PACKAGES}:
                    assert ROOT / f"{name.replace('.', '/')}.py" in sources, f"{path} uses {name}"
    assert n_kernels > 150
