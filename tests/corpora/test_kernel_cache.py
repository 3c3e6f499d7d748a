"""No kernel is taken from the cache that was compiled from other sources, or otherwise."""

import ast
import os
import shutil
import time
import zipfile
from pathlib import Path

import pytest

from corpora.kernel_cache import MAX_FOLDERS, MAX_WAIT, PACKAGES, kernel_sources
from tests.fork_server import ForkServer

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
    fill(tmp_path)
    return tmp_path


def fill(folder):
    """Write the real modules that compile kernels, and two kernels: one calls the other."""
    for package in PACKAGES:
        (folder / package).mkdir()
        (folder / package / "__init__.py").touch()
    for name in ("models/kernel.py", "corpora/kernel_cache.py", "corpora/files.py"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "models" / "called.py").write_text(CALLED)
    (folder / "evaluation" / "caller.py").write_text(CALLER)


COMPILED = """
import numba, numpy

@numba.njit
def read_at(array, i):
    return array[i] + 1.0

@numba.njit(error_model="numpy", fastmath={"contract"})
def total(array, n):
    total = 1.0
    for i in range(n):
        total += read_at(array, i)
    return total

total(numpy.arange(8.0)[:4], 4)
"""
"""What new processes begin with: numba, which has compiled something like it."""
BEGIN = """
import os, sys, numba
sys.path[:0] = ["", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
sys.dont_write_bytecode = True
numba.core.config.reload_config()
"""


@pytest.fixture(scope="module", autouse=True)
def _server():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    with ForkServer(COMPILED, environment) as server:
        SERVERS.append(server)
        yield
        SERVERS.clear()


SERVERS = []


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    fill(folder)
    run(folder)
    return folder


@pytest.fixture
def compiled(compiled_once, tmp_path):
    """A tree with its kernels in the cache."""
    return shutil.copytree(compiled_once, tmp_path, dirs_exist_ok=True)


def run(folder, code=RUN, n=4, **variables):
    """The sum that a new process computes, and how many of its kernels were in the cache."""
    total, hits = output_of(folder, code, n, **variables).split()[-2:]
    return float(total), int(hits)


def output_of(folder, code=RUN, n=4, **variables):
    """What a new process prints.
    Python's own cache is left out: it takes a file of the same second and size for the same.
    """
    (server,) = SERVERS
    environment = environment_of(folder) | variables
    return server.run(BEGIN + code.format(n=n), cwd=folder, environment=environment)


def environment_of(folder):
    home = {"XDG_CACHE_HOME": str(folder / "home"), "HOME": str(folder / "home")}
    return {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")} | home


def cached(folder):
    """Names of the files of compiled kernels, wherever they are."""
    return {path.name for path in folder.rglob("*.*-????????????????")}


def folders(tree):
    return sorted((tree / "home" / "wikitopics" / "kernels").iterdir())


def edit(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_change_of_a_kernel_recompiles_those_that_call_it(tree):
    assert (run(tree), run(tree)) == ((11.0, 0), (11.0, 1))
    assert len(cached(tree)) == 2  # a file for each
    edit(tree / "models" / "called.py", "array[i] + ADDED", "array[i] * 2.0")
    assert (run(tree), run(tree)) == ((13.0, 0), (13.0, 1))
    edit(tree / "models" / "called.py", "ADDED = 1.0", "ADDED = 2.0")
    assert run(tree) == (14.0, 0)
    edit(tree / "models" / "kernel.py", '"contract", ', "")
    assert run(tree) == (14.0, 0)


def test_sources_as_they_were_find_their_kernels_again(compiled):
    edit(compiled / "models" / "called.py", "array[i] + ADDED", "array[i] * 2.0")
    assert run(compiled) == (13.0, 0)
    edit(compiled / "models" / "called.py", "array[i] * 2.0", "array[i] + ADDED")
    assert (run(compiled), len(folders(compiled))) == ((11.0, 1), 2)


def test_another_checkout_finds_the_kernels(compiled, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "checkout"
    shutil.copytree(compiled, other, ignore=shutil.ignore_patterns("home"))
    assert run(other, XDG_CACHE_HOME=str(compiled / "home")) == (11.0, 1)


def test_the_least_recently_used_folders_are_deleted(tree):
    caches = tree / "home" / "wikitopics" / "kernels"
    for i in range(MAX_FOLDERS + 3):
        (caches / str(i)).mkdir(parents=True)
        (caches / str(i) / "kernel").touch()
        os.utime(caches / str(i), (i, i))
    (caches / "a file").touch()
    run(tree)
    assert {path.name for path in folders(tree)} >= {str(i) for i in range(4, MAX_FOLDERS + 3)}
    assert len(folders(tree)) == MAX_FOLDERS + 1  # and the file
    run(tree)
    assert len(folders(tree)) == MAX_FOLDERS + 1


def test_a_folder_in_use_is_recently_used(compiled):
    (folder,) = folders(compiled)
    os.utime(folder, (0, 0))
    run(compiled)
    assert folder.stat().st_mtime > time.time() - 100


def test_the_same_content_finds_its_kernels_whatever_the_time(compiled):
    for path in compiled.rglob("*.py"):
        os.utime(path, (1e9, 1e9))
    (compiled / "models" / "other.py").write_text("NO_KERNEL = 1\n")
    assert run(compiled) == (11.0, 1)


def test_code_that_checks_bounds_is_never_mixed_with_code_that_does_not(tree):
    assert run(tree, n=5) == (16.0, 0)  # of four: what lies behind them in memory is read
    with pytest.raises(RuntimeError, match="IndexError: index is out of bounds"):
        run(tree, n=5, NUMBA_BOUNDSCHECK="1")
    assert (run(tree, NUMBA_BOUNDSCHECK="1"), run(tree, n=5)) == ((11.0, 1), (16.0, 1))
    assert len(folders(tree)) == 2


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
    digest = "from corpora.kernel_cache import kernel_sources\nkernel_sources()"
    assert run(tree, digest + change + RUN) == (13.0, 0)  # imported after the digest was made
    edit(called, "* 2.0", "+ ADDED")
    assert run(tree) == (11.0, 1)


def test_other_folders_for_the_cache(tree):
    chosen, home = tree / "chosen", tree / "home"
    assert run(tree, NUMBA_CACHE_DIR=str(chosen)) == (11.0, 0)
    assert cached(chosen) == cached(tree) != set()
    assert run(tree, NUMBA_CACHE_DIR=str(chosen)) == (11.0, 1)
    shutil.rmtree(chosen)
    variables = {"XDG_CACHE_HOME": "", "HOME": str(home)}
    assert (run(tree, **variables), run(tree, **variables)) == ((11.0, 0), (11.0, 1))
    assert cached(home / ".cache" / "wikitopics") == cached(tree) != set()


def test_without_a_folder_kernels_are_compiled_all_the_same(tree):
    (tree / "file").touch()
    variables = {"XDG_CACHE_HOME": str(tree / "file")}
    assert (run(tree, **variables), run(tree, **variables)) == ((11.0, 0), (11.0, 0))


@pytest.mark.parametrize("mode", [0o775, 0o757])
@pytest.mark.parametrize("place", ["..", "."])
def test_a_folder_that_others_may_write_to_is_not_used(compiled, mode, place):
    (folder,) = folders(compiled)
    (folder / place).chmod(mode)
    code = "import logging\nlogging.basicConfig()\n" + RUN
    output = output_of(compiled, code)
    assert "belongs to another user, or others may write to it" in output
    assert output.split()[-2:] == ["11.0", "0"]
    (folder / place).chmod(0o755)
    assert run(compiled) == (11.0, 1)


@pytest.mark.parametrize("place", ["..", ".", "file"])
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_user_wrote_is_not_run(compiled, place):
    (folder,) = folders(compiled)
    files = [folder / name for name in cached(compiled)] if place == "file" else [folder / place]
    for path in files:
        os.chown(path, 12345, -1)
    assert run(compiled) == (11.0, 0)


def test_a_damaged_file_is_compiled_again(compiled):
    for path in [folders(compiled)[0] / name for name in cached(compiled)]:
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert (run(compiled), run(compiled)) == ((11.0, 0), (11.0, 1))
    for path in [folders(compiled)[0] / name for name in cached(compiled)]:
        path.write_bytes(b"")
    assert run(compiled) == (11.0, 0)


def test_a_folder_that_is_read_only_is_read(compiled):
    (folder,) = folders(compiled)
    folder.chmod(0o555)
    assert run(compiled) == (11.0, 1)
    assert run(compiled, RUN.replace("(8.0)", "(8)")) == (
        11.0,
        0,
    )  # other types, which are not saved


def test_processes_at_the_same_time_compile_a_kernel_once(tree):
    """Each waits for the one that began, and loads what it saved."""
    four = "import os\nos.fork(), os.fork()\n"
    last = (
        "while True:\n    try:\n        os.wait()\n    except ChildProcessError:\n        break\n"
    )
    lines = output_of(tree, four + RUN + last).splitlines()
    assert sorted(lines) == ["11.0 0", *["11.0 1"] * 3]
    assert len(cached(tree)) == 2


def test_processes_that_share_compiling_run_what_another_compiles_as_python(tree):
    code = """
import numpy as np, corpora.kernel_cache as cache
from evaluation.caller import read_at, total
claim, claimed = cache.claim, ["total"]
cache.claim = lambda path: not any(each in path.name for each in claimed) and claim(path)
cache.share_compiling()
for _ in range(2):
    print(total(np.arange(8.0)[:4], 4), len(total.signatures), len(read_at.signatures))
    claimed.clear()
"""
    assert output_of(tree, code).split() == ["11.0", "0", "1", "11.0", "1", "1"]


def test_processes_can_compile_inner_kernels_before_those_that_call_them(tree):
    code = """
import numpy as np, corpora.kernel_cache as cache
from evaluation.caller import read_at, total
cache.share_compiling()
for _ in range(2):
    with cache.inner_first():
        print(total(np.arange(8.0)[:4], 4), len(total.signatures), len(read_at.signatures))
print(cache.left_to_others())
"""
    expected = ["11.0", "0", "1", "11.0", "1", "1", "[]"]
    assert output_of(tree, code).split() == expected


def test_the_claim_of_a_killed_process_is_free(tree):
    killed = """
import os
from numba.core import event
class Kill(event.Listener):
    def on_start(self, event): os.kill(os.getpid(), 9)
    def on_end(self, event): pass
event.register("numba:compile", Kill())
"""
    with pytest.raises(RuntimeError):
        run(tree, killed + RUN)
    started = time.monotonic()
    assert run(tree) == (11.0, 0)
    assert time.monotonic() - started < MAX_WAIT / 2


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
