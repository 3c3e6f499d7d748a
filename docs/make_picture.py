"""Make docs/demo.svg from what the demo's commands print.

python docs/make_picture.py
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

COMMANDS = (
    "train --run demo --model gibbs --topics 12 --test 0.2 --seed 1",
    "evaluate demo",
    "evaluate demo --method left-to-right-sequential --samples 1000",
    "report demo",
)


def main() -> None:
    """Run the commands in an empty folder and draw their output."""
    console = Console(record=True, width=108, file=io.StringIO())
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
    picture = console.export_svg(title="make demo")
    # No fonts from the network: whatever fixed-width font the reader has.
    picture = re.sub(r"\s*@font-face \{.*?\}(?=\n)", "", picture, flags=re.DOTALL)
    picture = picture.replace("Fira Code", "monospace")
    Path(__file__).with_name("demo.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
