"""Make docs/demo.svg from what the demo's commands print.

python docs/make_picture.py
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

COMMANDS = (
    "train --run demo --topics 12 --test 0.2 --seed 1",
    "evaluate demo",
)


def main() -> None:
    """Run the commands in an empty folder and draw their output."""
    console = Console(record=True, width=100, file=io.StringIO())
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            console.print(f"$ python -m pipeline {command}", style="bold", highlight=False)
            output = subprocess.run(
                [sys.executable, "-m", "pipeline", *command.split()],
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
            )
            console.print(output.stdout.rstrip(), markup=False, highlight=False)
            console.print()
    target = Path(__file__).with_name("demo.svg")
    target.write_text(console.export_svg(title="make demo"), encoding="utf-8")


if __name__ == "__main__":
    main()
