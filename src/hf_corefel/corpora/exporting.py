"""A corpus as a folder of Parquet files with a dataset card, which `datasets.load_dataset` reads in every version."""

from __future__ import annotations

import errno
import glob
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as parquet
from huggingface_hub import HfApi

from ..documents import Document
from ..hub.transport import hub_errors
from ..utils.files import whole_file
from .builders import CorpusBuilder
from .errors import CorpusError
from .loading import load_builder
from .spec_builder import builder_of
from .statistics import CorpusStatistics, corpus_statistics

__all__ = ["ExportedSplit", "dataset_card", "export_corpus", "export_parser", "main", "run_export"]


@dataclass(frozen=True, slots=True)
class ExportedSplit:
    """What was written of a split.

    Attributes:
        config: The configuration.
        split: The split.
        path: The file, relative to the folder of the export.
        statistics: What is in it.
    """

    config: str
    split: str
    path: str
    statistics: CorpusStatistics


def export_corpus(
    builder: type[CorpusBuilder] | str,
    data_dir: str | Path,
    out: str | Path,
    *,
    configs: Sequence[str] = (),
    **options: Any,
) -> list[ExportedSplit]:
    """Writes ``CONFIG/SPLIT-00000-of-00001.parquet`` and ``README.md`` into a folder; empty splits are left out.

    Args:
        builder: The builder of the corpus, or its name in `hf_corefel.corpora.CORPORA`.
        data_dir: Its official files.
        out: The folder, made when it is missing; files of the same names in it are replaced.
        configs: The configurations, the first of which becomes the default; empty takes all whose files are there.
        options: Fields of the builder's configuration, such as ``strict`` and ``candidates``.

    Raises:
        CorpusError: When a file is missing or malformed, there is none of any configuration, or no document is left.
        ValueError: When there is no such configuration.
        OSError: When the folder cannot be written.
    """
    builder = builder_of(builder) if isinstance(builder, str) else builder
    out = Path(out)
    if out.exists() and not out.is_dir():  # which would be found out only once a corpus is read
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(out))
    chosen = list(configs) or builder.available_configs(str(data_dir))
    if not chosen:
        raise CorpusError(f"{data_dir}: no files of {builder.TITLE} here; expected {builder.FILES}")
    exported = []
    for config in chosen:
        with TemporaryDirectory() as cache:
            built = load_builder(builder(cache_dir=cache, config_name=config, data_dir=str(data_dir), **options))
            for split, dataset in built.items():
                if not len(dataset):  # `datasets` refuses to load a split without rows
                    continue
                path = f"{config}/{split}-00000-of-00001.parquet"
                (out / config).mkdir(parents=True, exist_ok=True)
                # The schema's metadata names feature types that earlier generations of `datasets` do not know.
                with whole_file(out / path) as place:
                    parquet.write_table(dataset.data.table.replace_schema_metadata(None), place)
                exported.append(ExportedSplit(config, split, path, corpus_statistics(map(Document.from_dict, dataset))))
            # Windows removes no folder whose files are mapped.
            del built, dataset
    if not exported:
        raise CorpusError(f"{data_dir}: no document could be exported")
    with whole_file(out / "README.md") as place:
        place.write_text(dataset_card(builder, exported), encoding="utf-8")
    return exported


def dataset_card(builder: type[CorpusBuilder], exported: Sequence[ExportedSplit]) -> str:
    """The card of an export: ``configs`` for `load_dataset`, counts, columns, splits, licence and citation."""
    names = list(dict.fromkeys(part.config for part in exported))
    about = {config.name: config.description for config in builder.BUILDER_CONFIGS}
    lines = ["---", *_languages(builder), "license: other", f"pretty_name: {builder.TITLE}"]
    lines += ["task_categories:", "- token-classification", "tags:", "- coreference-resolution", "- entity-linking"]
    lines.append("configs:")
    for name in names:
        lines += [f"- config_name: {name}", *(["  default: true"] if name == names[0] else []), "  data_files:"]
        for part in exported:
            if part.config == name:
                lines += [f"  - split: {part.split}", f"    path: {part.path}"]
    lines += ["---", "", f"# {builder.TITLE}", "", builder.DESCRIPTION, ""]
    lines += ["Exported from the official files by hf-corefel.", "", "## Configurations and splits", ""]
    lines += [f"- `{name}`: {about[name]}" for name in names]
    lines += ["", "| config | split | documents | linked clusters | NIL clusters | linked mentions | NIL mentions |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    lines += [f"| {' | '.join(_cells(part))} |" for part in exported]
    lines += ["", "## Columns", "", _COLUMNS, "", "## Licence", "", builder.LICENSE]
    if builder.HOMEPAGE:
        lines += ["", f"Homepage: {builder.HOMEPAGE}"]
    if builder.CITATION:
        lines += ["", "## Citation", "", "```bibtex", builder.CITATION, "```"]
    return "\n".join([*lines, ""])


def _languages(builder: type[CorpusBuilder]) -> list[str]:
    return ["language:", *(f"- {code}" for code in builder.LANGUAGES)] if builder.LANGUAGES else []


_COLUMNS = """Offsets count Unicode code points of `text`, end exclusive: `text[begin:end]` is the mention.

- `id`, `text`
- `words`, where the corpus has tokens: pairs of begin and end
- `speakers`, where the corpus has some: turns with `begin`, `end` and `speaker`
- `candidates`, where asked for: for a gold mention's `begin` and `end` a list of `entity` and `prior`
- `clusters`: a list of `entity` (a Wikipedia title with underscores, or what else the corpus links to; null for
  NIL) and `mentions`, each with `begin`, `end` and `text`"""


def _cells(part: ExportedSplit) -> list[str]:
    counts = part.statistics
    numbers = (
        counts.documents,
        counts.linked_clusters,
        counts.nil_clusters,
        counts.linked_mentions,
        counts.nil_mentions,
    )
    return [part.config, part.split, *(f"{number:,}" for number in numbers)]


def export_parser(builder: type[CorpusBuilder]) -> ArgumentParser:
    """The options that every script in ``dataset_scripts`` has."""
    names = [config.name for config in builder.BUILDER_CONFIGS]
    parser = ArgumentParser(description=f"Exports {builder.TITLE} as Parquet with a dataset card.")
    parser.add_argument("--data-dir", required=True, type=Path, help=builder.FILES)
    parser.add_argument("--out", type=Path, help="the folder to write")
    parser.add_argument("--config", action="append", choices=names, help="may be repeated; all whose files are there")
    parser.add_argument("--candidates", action="store_true", help="with the corpus' own candidates, where it has some")
    parser.add_argument("--lenient", action="store_true", help="warn of what is malformed and leave it out")
    parser.add_argument("--push-to-hub", metavar="NAME", help="also upload, as a private dataset: organisation/name")
    parser.add_argument("--public", action="store_true", help="make the pushed dataset public; mind the licence")
    return parser


def run_export(builder: type[CorpusBuilder], arguments: Namespace) -> int:
    """Does what the options ask for; returns the exit status."""
    with TemporaryDirectory() as temporary:
        out = Path(temporary) if arguments.out is None else arguments.out
        try:
            exported = _export(builder, arguments, out)
        except (ValueError, OSError) as error:
            hint = "; --lenient leaves out what is malformed"
            print(f"{error}{hint if isinstance(error, CorpusError) and not arguments.lenient else ''}", file=sys.stderr)
            return 1
        if arguments.push_to_hub is not None:
            try:
                name = _push(builder, out, exported, arguments.push_to_hub, public=arguments.public)
            except hub_errors() as error:
                print(f"cannot push to {arguments.push_to_hub}: {error}", file=sys.stderr)
                return 1
            print(f"pushed to {name}")
    return 0


def _export(builder: type[CorpusBuilder], arguments: Namespace, out: Path) -> list[ExportedSplit]:
    options = {"strict": not arguments.lenient, "candidates": arguments.candidates}
    exported = export_corpus(builder, arguments.data_dir, out, configs=arguments.config or (), **options)
    for part in exported:
        counts = part.statistics
        mentions = counts.linked_mentions + counts.nil_mentions
        print(f"{part.config}/{part.split}: {counts.documents:,} documents, {mentions:,} mentions -> {out / part.path}")
    return exported


def _push(
    builder: type[CorpusBuilder], out: Path, exported: Sequence[ExportedSplit], name: str, *, public: bool
) -> str:
    """Uploads what was exported, and nothing else of the folder; returns the dataset's full name.

    Raises:
        ValueError: When it is to be private and the dataset is there already, in public.
    """
    api = HfApi()
    name = api.create_repo(name, repo_type="dataset", private=not public, exist_ok=True).repo_id
    if not public and not api.repo_info(name, repo_type="dataset").private:
        raise ValueError("the dataset exists and is public; nothing was uploaded. --public says that it may be")
    api.upload_folder(
        repo_id=name,
        repo_type="dataset",
        folder_path=out,
        # "*" would stand for a slash, too.
        allow_patterns=[glob.escape(path) for path in ("README.md", *(part.path for part in exported))],
        commit_message=f"Upload {builder.TITLE}",
    )
    return name


def main(builder: type[CorpusBuilder], argv: Sequence[str] | None = None) -> int:
    """The command line of a script; returns the exit status."""
    parser = export_parser(builder)
    arguments = parser.parse_args(argv)
    if arguments.out is None and arguments.push_to_hub is None:
        parser.error("give --out, --push-to-hub or both")
    return run_export(builder, arguments)
