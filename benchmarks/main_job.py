"""Speed of the main job: loading, annotating about 600 words, and the whole command.

    python benchmarks/main_job.py

The command is compared with the bare import of what it must import, ``from transformers import Pipeline,
PreTrainedModel, AutoModel``, plus loading and annotating: the ratio says how much the package adds by itself.
Every figure is the least of several runs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

REPORT = Path(__file__).parent.parent / "examples" / "data" / "long_report.txt"
IMPORTS = "from transformers import Pipeline, PreTrainedModel, AutoModel"
IN_PROCESS = """
import sys, time
import hf_corefel
from hf_corefel.pipeline_corefel import load_pipeline
start = time.perf_counter()
pipeline = load_pipeline()
loaded = time.perf_counter()
text = open(sys.argv[1], encoding="utf-8").read()
pipeline(text)
first = time.perf_counter()
pipeline(text)
second = time.perf_counter()
print(loaded - start, first - loaded, second - first)
"""


def seconds(command: list[str]) -> float:
    """Wall-clock time of a command."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def in_process() -> list[float]:
    """Seconds of loading, of the first and of the second annotation in a fresh process."""
    command = [sys.executable, "-c", IN_PROCESS, str(REPORT)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(value) for value in result.stdout.split()[-3:]]


def main(runs: int = 3) -> None:
    """Runs everything and prints the table."""
    imports = min(seconds([sys.executable, "-c", IMPORTS]) for _ in range(runs))
    load, first, second = (min(values) for values in zip(*(in_process() for _ in range(runs)), strict=True))
    command = [sys.executable, "-m", "hf_corefel.cli", "annotate", str(REPORT)]
    whole = min(seconds(command) for _ in range(runs))
    words = len(REPORT.read_text(encoding="utf-8").split())
    print(f"import of transformers' classes      {imports:6.2f} s")
    print(f"load model, processor, KB            {load:6.2f} s")
    print(f"annotate {words} words, first call     {first:6.2f} s")
    print(f"annotate {words} words, second call    {second:6.2f} s")
    print(f"the whole command                    {whole:6.2f} s")
    print(f"command / (import + load + annotate) {whole / (imports + load + first):6.2f}")


if __name__ == "__main__":
    main()
