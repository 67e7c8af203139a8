"""Write the tables of the paper's comparison into docs/results.md, from what `run.py` stored.

    python experiments/report.py            # writes the page and its pictures
    python experiments/report.py --check    # writes nothing; fails where they are not what the stored results give

Nothing else is read: no corpus, no model. Runs that are missing are named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

# The scripts beside this one, also where this one is loaded by its path.
sys.path.insert(0, str(Path(__file__).parent))

from report_scores import load
from report_tables import CURVES, curves, page
from run_files import RUNS, read_queue
from stored_results import RESULTS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"
BEGIN, END = "<!-- paper-tables -->", "<!-- /paper-tables -->"
IMAGES = "images"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page; return 1 where a check failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where something would change")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of what is stored")
    parser.add_argument("--runs", type=Path, default=RUNS, help="folder of the files of runs")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page between whose marks the tables go")
    options = parser.parse_args(arguments)
    try:
        wanted = files(options.runs, options.results, options.page)
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    changed = [path for path, text in wanted.items() if _read(path) != text]
    if options.check:
        for path in changed:
            print(f"{path}: not what the stored results give; run experiments/report.py")
        return int(bool(changed))
    for path in changed:
        text = wanted[path]
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        print(f"{path}: {'removed' if text is None else 'written'}")
    return 0


def files(runs: Path, results: Path, target: Path) -> dict[Path, str | None]:
    """Return what the page and its pictures have to hold; None for a picture that is not to be there.

    Raises:
        ValueError: When the page has no marks, or a stored result fits no run.
    """
    queue = read_queue(runs)
    stored, missing = load(queue, results)
    before = target.read_text(encoding="utf-8")
    if before.count(BEGIN) != 1 or before.count(END) != 1:
        raise ValueError(f"{target}: expected the marks {BEGIN} and {END}, each once")
    head, _, rest = before.partition(BEGIN)
    tail = rest.partition(END)[2]
    pictures = curves(stored, queue)
    wanted: dict[Path, str | None] = {target.parent / IMAGES / name: pictures.get(name) for name in CURVES.values()}
    wanted[target] = f"{head}{BEGIN}\n{page(stored, missing, queue, IMAGES)}{END}{tail}"
    return wanted


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
