"""Train and evaluate the runs of `runs/`, in the order of ``queue.txt``; stop it at any time, and start it again.

    OMP_NUM_THREADS=1 python experiments/run.py --corpus dwie=path/to/DWIE --corpus aida=path/to/AIDA \
        --encoder all-MiniLM-L6-v2=path/to/encoder --work runs/paper

A run that is stored in ``--results`` is skipped, one that was interrupted goes on from its last checkpoint in
``--work``. Several of these may run at once: each takes the first run that no other has. ``--list`` prints what is
there; names of runs after the options restrict the queue to these.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

# The scripts beside this one, also where this one is loaded by its path.
sys.path.insert(0, str(Path(__file__).parent))

import torch
from run_corpora import open_corpus
from run_files import RUNS, Run, RunFileError, read_queue
from run_training import Places, cost_of, environment, evaluate, knowledge_of, train
from stored_results import RESULTS, read_record, write_record
from transformers.utils import logging

from hf_corefel import KnowledgeBase, bundled_checkpoint
from hf_corefel.utils.files import FileBusyError, locked


def main(arguments: Sequence[str] | None = None) -> int:
    """Work on the queue; return how many runs failed."""
    options = _parser().parse_args(arguments)
    try:
        queue = read_queue(options.runs)
        corpora = _named(options.corpus, "--corpus")
        places = Places(
            options.work,
            _named(options.encoder, "--encoder"),
            {"bundled": Path(bundled_checkpoint()) / "knowledge_base"}
            | _named(options.knowledge_base, "--knowledge-base"),
            options.save_every,
        )
        chosen = _chosen(queue, options.names)
    except (RunFileError, ValueError) as error:
        raise SystemExit(str(error)) from None
    if options.list:
        for run in chosen:
            print(f"{run.name:<40}{_state(run, options.results, places)}")
        return 0
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    logging.set_verbosity_warning()
    logging.disable_progress_bar()
    options.work.mkdir(parents=True, exist_ok=True)
    options.results.mkdir(parents=True, exist_ok=True)
    failed: set[str] = set()
    busy: set[str] = set()
    while (run := _next(chosen, options.results, places, failed | busy)) is not None:
        try:
            with locked(options.work / run.name):
                # Another worker may have finished it since.
                if read_record(options.results / run.name) is None:
                    print(f"{run.name}: {_state(run, options.results, places)}", flush=True)
                    _do(run, corpora, places, options.results)
                    print(f"{run.name}: {_state(run, options.results, places)}", flush=True)
            busy.clear()  # the others may have been stopped
        except FileBusyError:
            busy.add(run.name)
        except Exception as error:  # noqa: BLE001  # one run that fails leaves the others
            traceback.print_exc()
            print(f"{run.name}: failed: {error}", flush=True)
            failed.add(run.name)
    return len(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="runs to take; the whole queue when none is named")
    parser.add_argument("--corpus", action="append", default=[], metavar="NAME=FOLDER", help="where a corpus lies")
    parser.add_argument("--encoder", action="append", default=[], metavar="NAME=FOLDER", help="where an encoder lies")
    about = "where a knowledge base lies; bundled is the checkpoint's own unless said here"
    parser.add_argument("--knowledge-base", action="append", default=[], metavar="NAME=FOLDER", help=about)
    parser.add_argument("--work", type=Path, default=Path("runs/paper"), help="folder of checkpoints and weights")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of what is stored")
    parser.add_argument("--runs", type=Path, default=RUNS, help="folder of the files of runs")
    parser.add_argument("--save-every", type=float, default=240.0, metavar="SECONDS", help="between checkpoints")
    parser.add_argument("--list", action="store_true", help="print the queue and what each run has come to")
    return parser


def _named(items: Sequence[str], option: str) -> dict[str, Path]:
    places = {}
    for item in items:
        name, equals, folder = item.partition("=")
        if not (name and equals and folder):
            raise ValueError(f"{option}: expected NAME=FOLDER, got {item!r}")
        places[name] = Path(folder)
    return places


def _chosen(queue: Sequence[Run], names: Sequence[str]) -> list[Run]:
    if unknown := set(names) - {run.name for run in queue}:
        raise ValueError(f"there is no run {', '.join(sorted(unknown))}; --list prints what there is")
    return [run for run in queue if not names or run.name in names]


def _next(queue: Sequence[Run], results: Path, places: Places, passed: set[str]) -> Run | None:
    """Return the first run that is neither stored nor passed over, and for which all is there that others make."""
    for run in queue:
        if run.name not in passed and not _lacking(run, results, places) and read_record(results / run.name) is None:
            return run
    return None


def _lacking(run: Run, results: Path, places: Places) -> list[str]:
    """The runs that have to come first."""
    needed = [] if run.weights_of is None or places.weights(run.weights_of).is_dir() else [run.weights_of]
    return needed + [name for name in run.merges if read_record(results / name) is None]


def _state(run: Run, results: Path, places: Places) -> str:
    record = read_record(results / run.name)
    if record is not None:
        cost = record["cost"]
        if not cost:
            return "done"
        return f"done: {cost['seconds'] / 60:.0f} min, {cost['peak_megabytes']} MB, {cost['steps']} steps"
    if lacking := _lacking(run, results, places):
        return f"waits for {', '.join(lacking)}"
    if not run.trains or places.weights(run.name).is_dir():
        return "to be evaluated"
    cost = cost_of(run, places)
    return f"begun: step {cost['steps']}" if cost else "not begun"


def _do(run: Run, corpora: dict[str, Path], places: Places, results: Path) -> None:
    """Train a run where it is not trained, evaluate it on its parts, and store what was found in one step."""
    corpus = open_corpus(run.settings["corpus"], corpora)
    folder = places.knowledge_bases.get(run.settings["knowledge_base"])
    if folder is None:
        name = run.settings["knowledge_base"]
        raise ValueError(f"where is the knowledge base {name}? say --knowledge-base {name}=FOLDER")
    kb = KnowledgeBase.from_pretrained(folder)
    if run.trains and not places.weights(run.name).is_dir():
        train(run, corpus, kb, places)
    partial = results / f".{run.name}.part"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    evaluated = {name: evaluate(run, corpus.part(name), kb, places, results, partial, name) for name in run.parts}
    record = {
        "run": run.to_dict(),
        "knowledge_base": knowledge_of(kb, folder),
        "cost": cost_of(run, places),
        "evaluated": evaluated,
        "environment": environment(),
    }
    write_record(partial, record)
    partial.rename(results / run.name)


if __name__ == "__main__":
    sys.exit(main())
