import importlib
from pathlib import Path

import pytest

import benchmarks

FOLDER = Path(benchmarks.__file__).parent
PEERS = {"tomotopy", "topica"}  # compared with, not installed for tests


@pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("[!_]*.py")))
def test_a_benchmark_can_be_imported(name: str) -> None:
    try:
        importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        if error.name not in PEERS:
            raise
        pytest.skip(f"{error.name} is not installed")
