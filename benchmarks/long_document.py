"""Memory and time of a long document, made up of names and filler: how both grow with its words.

    python benchmarks/long_document.py

Each length runs in a process of its own, on one thread; memory is the most that the process ever held, the libraries
(some 0.5 GB) included. Not on Windows, which does not tell.
"""

from __future__ import annotations

import json
import subprocess
import sys

LENGTHS = (600, 5_000, 20_000)
IN_PROCESS = """
import json, random, resource, sys, time
import torch
from hf_corefel.pipeline_corefel import load_pipeline
torch.set_num_threads(1)
names = "Merkel Macron Berlin Paris NATO Bundestag Poland Warsaw Brussels Germany".split()
filler = "the minister said that talks about a plan for next year would go on after reports of the vote".split()
random.seed(0)
words = [random.choice(names if random.random() < 0.15 else filler) for _ in range(int(sys.argv[1]))]
text = " ".join(word + "." if i % 17 == 16 else word for i, word in enumerate(words))
annotate = load_pipeline()
start = time.process_time()
result = annotate(text)
spent = time.process_time() - start
unit = 2**30 if sys.platform == "darwin" else 2**20
print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, spent, len(result["clusters"])]))
"""


def main() -> None:
    """Runs every length and prints the table."""
    print("  words    memory      time  clusters")
    for length in LENGTHS:
        command = [sys.executable, "-c", IN_PROCESS, str(length)]
        result = subprocess.run(command, check=True, capture_output=True, text=True)
        memory, spent, clusters = json.loads(result.stdout.splitlines()[-1])
        print(f"{length:7d} {memory:6.2f} GiB {spent:7.1f} s {clusters:9d}")


if __name__ == "__main__":
    main()
