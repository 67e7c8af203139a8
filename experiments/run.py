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
from collections.abc import Mapping, Sequence
from pathlib import Path

# The scripts beside this one, also where this one is loaded by its path.
sys.path.insert(0, str(Path(__file__).parent))

import torch
from run_corpora import open_corpus
from run_files import RUNS, Run, RunFileError, read_queue, what_is_done
from run_training import Places, check_training, cost_of, environment, evaluate, knowledge_of, train
from stored_results import RESULTS, is_stored, read_record, write_record
from transformers.utils import logging

from hf_corefel import KnowledgeBase, bundled_checkpoint
from hf_corefel.utils.files import FileBusyError, locked


def main(arguments: Sequence[str] | None = None) -> int:
    """Work on the queue; return how many runs failed, or can never be begun."""
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
    by_name = {run.name: run for run in queue}
    failed: set[str] = set()
    busy: set[str] = set()
    for run in chosen:
        try:
            read_record(options.results / run.name)
        except ValueError as error:
            print(f"{run.name}: failed: {error}", flush=True)
            failed.add(run.name)
    while (run := _next(chosen, options.results, places, failed | busy)) is not None:
        try:
            with locked(options.work / run.name):
                # Another worker may have finished it since.
                if not is_stored(options.results / run.name):
                    print(f"{run.name}: {_state(run, options.results, places)}", flush=True)
                    _check(run, by_name, places, options.results)
                    _do(run, corpora, places, options.results)
                    print(f"{run.name}: {_state(run, options.results, places)}", flush=True)
            busy.clear()  # the others may have been stopped
        except FileBusyError:
            busy.add(run.name)
        except Exception as error:  # noqa: BLE001  # one run that fails leaves the others
            traceback.print_exc()
            print(f"{run.name}: failed: {error}", flush=True)
            failed.add(run.name)
    return len(failed) + _report_waiting(chosen, options.results, places, failed, busy)


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
        if run.name not in passed and not is_stored(results / run.name) and not _lacking(run, results, places):
            return run
    return None


def _report_waiting(chosen: Sequence[Run], results: Path, places: Places, failed: set[str], busy: set[str]) -> int:
    """Print which runs still wait, and for what; return how many wait for none that another worker has."""
    hopeless = 0
    hoped_for = set(busy)
    for run in chosen:
        if is_stored(results / run.name) or not (lacking := _lacking(run, results, places)) or run.name in failed:
            continue
        print(f"{run.name}: waits for {', '.join(lacking)}", flush=True)
        if hoped_for.issuperset(lacking):
            hoped_for.add(run.name)
        else:
            hopeless += 1
    return hopeless


def _lacking(run: Run, results: Path, places: Places) -> list[str]:
    """The runs that have to come first."""
    needed = [] if run.weights_of is None or places.weights(run.weights_of).is_dir() else [run.weights_of]
    return needed + [name for name in run.merges if not is_stored(results / name)]


def _state(run: Run, results: Path, places: Places) -> str:
    try:
        record = read_record(results / run.name)
    except ValueError as error:
        return str(error)
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


def _check(run: Run, runs: Mapping[str, Run], places: Places, results: Path) -> None:
    """Raise `ValueError` where a run would take what other settings made, or could not be stored in the end."""
    if (results / run.name).exists():
        raise ValueError(f"{results / run.name}: there is a folder without a whole result; remove it and run it again")
    if not run.merges:
        check_training(runs[run.weights_of or run.name], places, results)
    for name in run.merges:
        record = read_record(results / name)
        if record is not None and what_is_done(record["run"]) != what_is_done(runs[name].to_dict()):
            raise ValueError(
                f"{results / name}: it was run with other settings than its file has now; remove it and "
                f"{places.work / name}, then run it again"
            )


def _do(run: Run, corpora: dict[str, Path], places: Places, results: Path) -> None:
    """Train a run where it is not trained, evaluate it on its parts, and store what was found in one step."""
    corpus = open_corpus(run.settings["corpus"], corpora)
    folder = places.knowledge_bases.get(run.settings["knowledge_base"])
    if folder is None:
        name = run.settings["knowledge_base"]
        raise ValueError(f"where is the knowledge base {name}? say --knowledge-base {name}=FOLDER")
    kb = KnowledgeBase.from_pretrained(folder)
    # Before anything is trained, for a part may be missing or malformed.
    parts = {name: corpus.part(name) for name in run.parts}
    if run.trains and not places.weights(run.name).is_dir():
        train(run, corpus, kb, places)
    partial = results / f".{run.name}.part"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    evaluated = {name: evaluate(run, part, kb, places, results, partial, name) for name, part in parts.items()}
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
