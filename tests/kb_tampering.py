"""Damages the files of a knowledge base in many ways, and says what opening and using each one comes to.

It runs as a program of its own that does this in forks, so that a crash or a hang ends a fork alone and is seen as
such. `tamper` starts it and returns what it found.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError, older_formats

SECONDS = 20


class Found(NamedTuple):
    """What came of the damages to a file: how often each outcome, and the first damages of each."""

    outcomes: Counter[str]
    examples: dict[str, list[str]]


def tamper(
    folder: Path, *, flips: int, blocks: int, files: list[str] | None = None, check: bool = True, timeout: float = 600
) -> dict[str, Found]:
    """Damage files of a folder one at a time, and restore each.

    Args:
        folder: The folder of the knowledge base, which nobody else uses.
        flips: How many bits or bytes of a file are changed, one at a time.
        blocks: How many blocks are overwritten with zeros, one at a time.
        files: Names of files; all when None.
        check: How the folder is opened.
        timeout: Seconds for all.

    Returns:
        By file, how often it came to ``right`` (the answers of the whole folder), ``error`` (a `KnowledgeBaseError`),
        ``wrong`` (other answers), ``traceback`` (another error), ``hang`` or ``signal N``.
    """
    names = sorted(path.name for path in folder.iterdir()) if files is None else files
    options = {"flips": flips, "blocks": blocks, "check": check}
    command = [sys.executable, __file__, str(folder), json.dumps(options), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=True)
    return {name: Found(Counter(found[0]), found[1]) for name, found in json.loads(done.stdout).items()}


def damages(data: bytes, flips: int, blocks: int, seed: str) -> Iterator[tuple[str, bytes]]:
    """Give each damage with its description; half of the flips and blocks lie at the beginning, where headers are."""
    draw = random.Random(seed)

    def place() -> int:
        return draw.randrange(len(data) if draw.random() < 0.5 else min(len(data), 400))

    for _ in range(flips):
        position, change = place(), draw.choice([1 << draw.randrange(8), draw.randrange(1, 256)])
        yield f"byte {position} ^ {change}", _with(data, position, bytes([data[position] ^ change]))
    for _ in range(blocks):
        position, length = place(), draw.choice([1, 4, 8, 64, 512])
        zeros = bytes(min(length, len(data) - position))
        if data[position : position + len(zeros)] != zeros:
            yield f"zeros {position}+{len(zeros)}", _with(data, position, zeros)
    for length in sorted({0, 1, 7, 8, 100, *(len(data) * part // 8 for part in range(8)), len(data) - 1}):
        if length < len(data):
            yield f"cut to {length}", data[:length]
    yield "longer", data + b"\0"
    yield "twice", data + data


def _with(data: bytes, position: int, part: bytes) -> bytes:
    return data[:position] + part + data[position + len(part) :]


def answers(folder: Path, surfaces: list[str], check: bool) -> str:
    """Open a folder, ask it everything, and return a digest of the answers."""
    kb = KnowledgeBase.from_pretrained(folder, check=check)
    said: list[Any] = [repr(kb), kb.provenance, kb.fallback, list(kb.entities()), sorted(kb.surfaces())]
    asked = surfaces + [surface.upper() for surface in surfaces] + ["unknown", ""]
    for fallback in (None, "none", "casefold"):
        said.append([[(c.entity, c.prior) for c in kb.candidates(surface, fallback=fallback)] for surface in asked])
        said.append([part.tolist() for part in kb.lookup(asked, 4, fallback=fallback)])
    ids = np.arange(-1, kb.num_ids)
    said += [kb.vectors(ids).tolist(), kb.has_vector(ids).tolist(), kb.vector_for("unknown").tolist()]
    said += [[(kb.description(e), kb.wikidata(e), kb.url(e)) for e in kb.entities()]]
    said += [
        [(kb.type(e), kb.links(e)) for e in kb.entities()],
        sorted(kb.redirects()),
        kb.entity_of("wikidata", "Q42"),
    ]
    if kb.projection is not None:
        said.append(kb.projection(np.ones((2, kb.projection.hidden_size), dtype=np.float32)).tolist())
        said.append(dict(kb.projection.info))
    kb.verify()
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()


def outcome(folder: Path, surfaces: list[str], check: bool, right: str) -> str:
    """Ask a folder, and return what came of it."""
    try:
        return "right" if answers(folder, surfaces, check) == right else "wrong"
    except KnowledgeBaseError:
        return "error"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
        return " ".join(f"traceback {error!r}".split())


def outcomes(path: Path, cases: list[bytes], ask: Callable[[], str]) -> Iterator[str]:
    """Put each content into a file and ask, in a fork that goes on until a content ends it; then in another."""
    begin = 0
    while begin < len(cases):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            faulthandler.disable()
            beside = path.with_name(f"{path.name}.beside")
            for case in cases[begin:]:
                # A file that is still mapped must not change.
                beside.write_bytes(case)
                os.replace(beside, path)
                signal.alarm(SECONDS)
                os.write(writing, f"{ask()}\n".encode("utf-8", "replace"))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            for line in pipe:
                begin += 1
                yield line.rstrip("\n")
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            begin += 1
            yield "hang" if os.WTERMSIG(status) == signal.SIGALRM else f"signal {os.WTERMSIG(status)}"


def main(folder: Path, options: dict[str, Any], names: list[str]) -> None:
    # Forks that wait for the reader of a damaged trie end sooner.
    older_formats.SECONDS = 3
    surfaces, check = sorted(KnowledgeBase.from_pretrained(folder).surfaces()), options["check"]
    right = answers(folder, surfaces, check)
    found: dict[str, tuple[Counter[str], dict[str, list[str]]]] = {}
    for name in names:
        path = folder / name
        data = path.read_bytes()
        kinds, examples = found.setdefault(name, (Counter(), {}))
        cases = list(damages(data, options["flips"], options["blocks"], name))
        answered = outcomes(path, [case for _, case in cases], lambda: outcome(folder, surfaces, check, right))
        for (what, _), said in zip(cases, answered, strict=True):
            kind = said.split()[0] if said.startswith("traceback") else said
            kinds[kind] += 1
            examples[kind] = [*examples.get(kind, []), f"{what}: {said}"][:5]
        path.write_bytes(data)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:])
