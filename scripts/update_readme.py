"""Writes what the demo prints into README.md, between its markers: `make readme`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
ARGUMENTS = ("annotate", "examples/data/news.txt")
BEGIN, END = "<!-- demo:begin -->\n```text\n", "```\n<!-- demo:end -->"


def demo_output() -> str:
    """What ``hf-corefel annotate examples/data/news.txt`` prints when its output is piped.

    Raises:
        subprocess.CalledProcessError: When the command fails; its errors are shown on standard error.
    """
    command = [sys.executable, "-m", "hf_corefel.cli", *ARGUMENTS]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, timeout=300)
    return done.stdout.decode("utf-8")


def demo_block(readme: str) -> str:
    """The output that stands in the README.

    Raises:
        ValueError: When a marker is missing or stands there twice.
    """
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise ValueError(f"{README.name} needs exactly one {BEGIN!r} and one {END!r}")
    return readme.split(BEGIN)[1].split(END)[0]


def with_demo_block(readme: str, output: str) -> str:
    """The README with ``output`` in place of the block; raises like `demo_block`."""
    lines = "".join(f"{line.rstrip()}\n" for line in output.rstrip().splitlines())
    return readme.replace(f"{BEGIN}{demo_block(readme)}{END}", f"{BEGIN}{lines}{END}")


def main() -> int:
    """Updates the file; returns the exit status."""
    README.write_text(with_demo_block(README.read_text(encoding="utf-8"), demo_output()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
