"""DWIE for `datasets`: a loading script where `datasets` runs such (before 4), and an export everywhere.

Example:
    python dataset_scripts/dwie.py --data-dir DWIE/data --download            # fetch the texts, go on where it ended
    python dataset_scripts/dwie.py --data-dir DWIE/data --out dwie-parquet    # then load_dataset("dwie-parquet")
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from itertools import count

from hf_corefel.corpora.builders import DwieBuilder
from hf_corefel.corpora.dwie_download import REPORT
from hf_corefel.corpora.dwie_download import ArticleOutcome
from hf_corefel.corpora.dwie_download import DownloadError
from hf_corefel.corpora.dwie_download import download_dwie
from hf_corefel.corpora.errors import CorpusError
from hf_corefel.corpora.exporting import export_parser
from hf_corefel.corpora.exporting import run_export
from hf_corefel.corpora.locating import corpus_folder


class Dwie(DwieBuilder):
    """See `hf_corefel.load_dwie`."""


def download(arguments: Namespace) -> int:
    """Fetches the texts; returns the exit status, 1 when any article is not complete."""
    numbers = count(1)

    def show(outcome: ArticleOutcome) -> None:
        number = next(numbers)
        if outcome.fetched or outcome.detail:
            print(f"[{number}] {outcome.id}: {outcome.status}{f' ({outcome.detail})' if outcome.detail else ''}")

    try:
        report = download_dwie(
            arguments.data_dir,
            article_list=arguments.article_list,
            delay=arguments.delay,
            timeout=arguments.timeout,
            progress=show,
        )
    except (CorpusError, DownloadError) as error:
        print(error, file=sys.stderr)
        return 1
    counts = report.to_dict()["counts"]
    print(", ".join(f"{number:,} {status}" for status, number in counts.items()))
    print(f"articles that are not complete: {corpus_folder(arguments.data_dir, 'dwie') / REPORT}")
    return int(counts["complete"] < len(report.articles))


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = export_parser(Dwie)
    group = parser.add_argument_group("download", "of the texts from Deutsche Welle, into DATA_DIR/annos_with_content")
    group.add_argument("--download", action="store_true", help="fetch the texts that are not there yet")
    group.add_argument("--article-list", help="default: DATA_DIR/article_id_to_url.json")
    group.add_argument("--delay", type=float, default=1.0, help="seconds between requests (default: 1)")
    group.add_argument("--timeout", type=float, default=30.0, help="seconds to wait for an answer (default: 30)")
    arguments = parser.parse_args(argv)
    exports = arguments.out is not None or arguments.push_to_hub is not None
    if not exports and not arguments.download:
        parser.error("give --download, --out or --push-to-hub")
    status = download(arguments) if arguments.download else 0
    # What could be fetched is exported all the same.
    return max(status, run_export(Dwie, arguments)) if exports else status


if __name__ == "__main__":
    sys.exit(main())
