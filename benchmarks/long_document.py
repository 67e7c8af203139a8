"""Memory and time of long documents, made up of names and filler, as multiples of a short one's.

    python benchmarks/long_document.py [--words 5000 20000 100000] [--scope all] [--pairs 3] [--threads 1]

Each length runs in a process of its own, right after one of 1,000 words; its time a word is given as a multiple of that
one's, the median of several such pairs. Memory is the most that the process ever held, the libraries (some 0.5 GB)
included. Not on Windows, which does not tell.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

SHORT = 1_000
IN_PROCESS = """
import json, random, resource, sys, time
import torch
from hf_corefel import Document
from hf_corefel.pipeline_corefel import load_pipeline
torch.set_num_threads(int(sys.argv[3]))
names = "Merkel Macron Berlin Paris NATO Bundestag Poland Warsaw Brussels Germany".split()
filler = "the minister said that talks about a plan for next year would go on after reports of the vote".split()
random.seed(0)
words = [random.choice(names if random.random() < 0.15 else filler) for _ in range(int(sys.argv[1]))]
text = " ".join(word + "." if i % 17 == 16 else word for i, word in enumerate(words))
annotate = load_pipeline()
annotate(Document(text[:2000]))
start = time.process_time()
result = annotate(Document(text, mention_scope=sys.argv[2] or None))
spent = time.process_time() - start
unit = 2**30 if sys.platform == "darwin" else 2**20
mentions = sum(len(cluster["mentions"]) for cluster in result["clusters"])
print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, spent, mentions]))
"""


def measure(words: int, scope: str, threads: int) -> tuple[float, float, int]:
    """Return GiB, seconds of processor time, and mentions of a document of so many words."""
    command = [sys.executable, "-c", IN_PROCESS, str(words), scope, str(threads)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    memory, spent, mentions = json.loads(result.stdout.splitlines()[-1])
    return memory, spent, mentions


def main() -> None:
    """Runs every length and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, nargs="+", default=[5_000, 20_000, 100_000])
    parser.add_argument("--scope", default="", help="which mentions are wanted")
    parser.add_argument("--pairs", type=int, default=3, help="times that each length is measured")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print(f"  words      memory  mentions  time a word, as a multiple of that at {SHORT:,} words")
    for words in options.words:
        ratios, found = [], (0.0, 0.0, 0)
        for _ in range(options.pairs):
            _, short, _ = measure(SHORT, options.scope, options.threads)
            found = measure(words, options.scope, options.threads)
            ratios.append(found[1] / words / (short / SHORT))
        print(f"{words:7d} {found[0]:7.2f} GiB {found[2]:9d}  {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
