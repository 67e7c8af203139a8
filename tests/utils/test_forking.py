"""Forked workers annotate after the model has run in the parent, with torch's own number of threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_SCRIPT = """
import os, sys
import torch
from hf_corefel.pipeline_corefel import load_pipeline

torch.set_num_threads(4)
annotate = load_pipeline()
text = "Angela Merkel spoke in Berlin. Merkel will travel to Moscow. " * 15
expected = annotate(text)
if sys.argv[1] == "map":
    from datasets import Dataset

    rows = Dataset.from_dict({"text": [text] * 4}).map(
        lambda row: {"clusters": len(annotate(row["text"])["clusters"]), "threads": torch.get_num_threads()}, num_proc=2
    )
    assert rows["clusters"] == [len(expected["clusters"])] * 4, rows["clusters"]
    assert set(rows["threads"]) == {1}
elif sys.argv[1] == "pool":
    from multiprocessing import get_context

    with get_context("fork").Pool(2) as pool:
        found = pool.map(annotate, [text] * 4)
    # Sums of one thread and of four differ by rounding.
    entities = [[cluster["entity"] for cluster in one["clusters"]] for one in [expected, *found]]
    assert entities == entities[:1] * 5
else:
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if annotate(text)["clusters"] else 1)
        os._exit(os.waitpid(grandchild, 0)[1])
    assert os.waitpid(child, 0)[1] == 0
assert torch.get_num_threads() == 4
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("way", ["map", "pool", "twice"])
def test_forked_workers_annotate(way: str) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    }
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, way], env=environment, capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("done")
