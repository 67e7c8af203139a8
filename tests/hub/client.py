"""A process that talks to one Hub: snippets of Python in on standard input, what they return out, as lines of JSON.

huggingface_hub reads its endpoint when it is imported, so each Hub needs a process of its own; importing takes seconds,
so tests share one. A snippet is the body of a function of ``given``, the values that the test sends along.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor
from traceback import format_exception

# Libraries print: their lines must not get between the answers.
answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def run(order: dict) -> dict:
    names: dict = {}
    exec("def snippet(given):\n" + textwrap.indent(textwrap.dedent(order["code"]), "    "), names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = names["snippet"](order["given"])
    return {"value": value, "warnings": [f"{item.category.__name__}: {item.message}" for item in caught]}


with ThreadPoolExecutor(1) as pool:
    for line in sys.stdin:
        future = pool.submit(run, json.loads(line))
        error = future.exception()
        if error is None:
            answer = future.result()
        else:
            answer = {"error": f"{type(error).__name__}: {error}", "traceback": "".join(format_exception(error))}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
