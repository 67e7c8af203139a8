"""``hf-corefel calibrate``: how far a model's probabilities are off on annotated documents, and a model put right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from .annotate import MentionScope
from .messages import fail, say, warnings_as_messages
from .options import (
    EntityMapOption,
    KnowledgeBaseOption,
    ModelOption,
    QuietOption,
    RevisionOption,
    TokenOption,
    TrustOption,
    hub_access,
    knowledge_base_folder,
    map_place,
)
from .rendering import ProgressBar, show
from .silence import silent_transformers

if TYPE_CHECKING:
    from ..calibration import CalibrationReport
    from ..metrics import Decisions

__all__ = ["calibrate"]


def calibrate(
    corpora: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...",
            help="Annotated documents that were not trained on: a file of JSON lines, or the folder of a corpus.",
        ),
    ],
    model: ModelOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Fit a calibration, and write the model with it to this new folder."),
    ] = None,
    one_scale: Annotated[
        bool,
        typer.Option("--one-scale", help="Fit one scale for all scores: a global model's best trees stay as they are."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Fit this value alone, or several so named: mention_scale, pair_scale, link_scale, nil_offset.",
        ),
    ] = None,
    leave_one_out: Annotated[
        bool,
        typer.Option("--leave-one-out", help="Also fit to all corpora but one, and measure on that one, for each."),
    ] = False,
    split: Annotated[str, typer.Option(help="The part of corpora in folders.")] = "validation",
    mention_scope: Annotated[
        MentionScope | None,
        typer.Option(
            help="Mentions to look for where a document does not say it, and in corpora in folders, whose gold has the "
            "same where a corpus has both; what they annotate if left out, and the model's default for documents."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Documents of a corpus, at most: always the same ones, drawn by chance.")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=0, help="Clusterings drawn a document, for antecedents; 0 leaves these out.")
    ] = 0,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="All figures and tables there, as JSON.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Reliability diagrams there, as SVG.")
    ] = None,
    entity_map: EntityMapOption = None,
    knowledge_base: KnowledgeBaseOption = None,
    revision: RevisionOption = None,
    token: TokenOption = None,
    trust_remote_code: TrustOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare probabilities with annotated documents; with --out, fit scales and offsets that make them true.

    Without --out and --leave-one-out nothing is fitted: the tables say how the model does as it is.
    """
    from ..calibration import calibrate_corpora
    from ..evaluation import open_entity_map
    from ..evaluation.end_to_end import check_outputs
    from ..pipeline_corefel import load_pipeline
    from ..utils.files import whole_file

    try:
        with warnings_as_messages(quiet=quiet), silent_transformers():
            if out is not None:
                _check_folder(out, (report, picture))
            for option, said in (("--only", only), ("--one-scale", one_scale)):
                if said and out is None and not leave_one_out:
                    raise ValueError(f"{option}: nothing is fitted; say --out or --leave-one-out too")
            for name in corpora:
                if not Path(name).exists():
                    raise ValueError(f"{name}: there is no such file or folder")
            maps = [map_place(each, token=token) for each in entity_map or ()]
            check_outputs({"--report": report, "--picture": picture}, (*corpora, model, knowledge_base, *maps))
            access: dict[str, Any] = {**hub_access(revision, token), "trust_remote_code": trust_remote_code}
            base = None if knowledge_base is None else knowledge_base_folder(knowledge_base, token=token)
            pipeline = load_pipeline(model, knowledge_base=base, **access)
            known = pipeline.processor.settings.scope_names
            if mention_scope is not None and mention_scope.value not in known:
                has = f"the model's are {', '.join(known)}" if known else "the model has none"
                raise ValueError(f"--mention-scope: there is no scope {mention_scope.value}; {has}")
            scope = None if mention_scope is None else mention_scope.value
            documents = _read_corpora(corpora, split, limit, known, scope)
            with ProgressBar("Calibrating", None, shown=not quiet) as progress:
                found = calibrate_corpora(
                    pipeline,
                    documents,
                    fit=out is not None,
                    one_scale=one_scale,
                    only=only or (),
                    leave_one_out=leave_one_out,
                    entity_map=open_entity_map([*maps, pipeline.processor.knowledge_base]),
                    samples=samples,
                    progress=progress.update,
                )
            try:
                for file, text in ((report, json.dumps(found.to_dict(), indent=1) + "\n"), (picture, found.to_svg())):
                    if file is not None:
                        with whole_file(file) as place:
                            place.write_text(text, encoding="utf-8")
            finally:
                # A fit takes hours, so that what cannot be written costs nothing else.
                if out is not None and found.calibration is not None:
                    found.save(pipeline, out)
    except (OSError, ValueError) as error:
        fail(f"cannot calibrate on {', '.join(corpora)}: {error}")
    show(*_tables(found))
    if out is not None:
        say(f"written to {out}")


def _check_folder(out: Path, files: Sequence[Path | None]) -> None:
    """Raises `ValueError` unless a folder can be made there, and is none of the files that are written."""
    import os
    from tempfile import TemporaryDirectory

    if os.path.lexists(out):
        raise ValueError(f"--out: {out} exists already; name a new folder")
    if os.path.realpath(out) in {os.path.realpath(file) for file in files if file is not None}:
        raise ValueError(f"--out: {out}: a file is written there too; name another folder")
    above = next(folder for folder in out.absolute().parents if os.path.lexists(folder))
    try:
        TemporaryDirectory(prefix=".", dir=above).cleanup()
    except OSError as error:
        raise ValueError(f"--out: {out}: no folder can be made in {above} ({error.strerror})") from error


def _read_corpora(
    places: Sequence[str], split: str, limit: int | None, scopes: Sequence[str], wanted: str | None
) -> dict[str, list[Any]]:
    """The documents by the name of their corpus, which is that of its file or folder."""
    import random

    from ..calibration.reading import check_gold
    from .convert import is_corpus

    found: dict[str, list[Any]] = {}
    for place in places:
        path = Path(place)
        if path.is_file() and path.name.removesuffix(".gz").endswith((".jsonl", ".json")) and not is_corpus(place):
            documents = _read_file(path)
        else:
            documents = _read_corpus(path, split, scopes, wanted)
        check_gold(documents, place)
        if wanted is not None:
            documents = [d if d.mention_scope else replace(d, mention_scope=wanted) for d in documents]
        if limit is not None and len(documents) > limit:
            documents = random.Random(0).sample(documents, limit)
        name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json") or place
        if name in found:
            raise ValueError(f"{place}: another corpus is called {name}, too; give each file another name")
        found[name] = documents
    return found


def _read_file(path: Path) -> list[Any]:
    """The documents of JSON lines, or of a list of them, which both may be called ``.json``."""
    from ..formats import read_documents, read_jsonl

    if path.suffix == ".json":
        with path.open("rb") as file:
            if file.read(100).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
                return list(read_documents(path, "json"))
    return list(read_jsonl(path))


def _read_corpus(path: Path, split: str, scopes: Sequence[str], wanted: str | None) -> list[Any]:
    """The documents of a corpus, under the scope that is wanted or that it annotates, where the model knows it."""
    from ..corpora import CORPORA, detect_format, read_gold

    corpus = detect_format(path)
    scope: Any = wanted or CORPORA[corpus].scopes[0]
    kinds: Any = "all" if scope == "all" else "named"
    gold = read_gold(path, split, mention_scope=kinds, corpus_format=corpus)
    return [replace(document, mention_scope=scope) if scope in scopes else document for document in gold]


def _tables(found: CalibrationReport) -> list[Text | Table]:
    """Of each corpus and kind of decision how far its probabilities are off; of links, what a threshold would do."""
    parts: list[Text | Table] = []
    if found.calibration is not None:
        values = ", ".join(f"{name} {value:g}" for name, value in found.calibration.to_dict().items())
        parts += [Text.assemble(("Calibration: ", "bold"), values), Text()]
    parts += [_errors_table(found), Text()]
    links = found.pooled("links", after=True)
    if len(links):
        parts += [Text("Links of all corpora by their probability", style="bold"), _bins_table(links), Text()]
        parts += [Text("What min_probability keeps of them", style="bold"), _risk_table(links)]
    return parts


def _errors_table(found: CalibrationReport) -> Table:
    table = _table("Corpus", "Decisions", "Number", "Right %", "P %", "Error")
    fitted, held_out = bool(found.after), bool(found.held_out)
    for column in ("P % after", "Error after") * fitted + ("Error held out",) * held_out + ("By chance",):
        table.add_column(column, justify="right")
    for corpus, before in found.before.items():
        first = True
        for kind, decisions in vars(before).items():
            if not len(decisions):
                continue
            cells = [_percent(decisions.accuracy), _percent(decisions.confidence)]
            cells.append(_percent(decisions.calibration_error()))
            if fitted:
                after = getattr(found.after[corpus], kind)
                cells += [_percent(after.confidence), _percent(after.calibration_error())]
            if held_out:
                cells.append(_percent(getattr(found.held_out[corpus], kind).calibration_error()))
            cells.append(_percent(decisions.calibration_error_by_chance()))
            table.add_row(corpus if first else "", kind.replace("_", " "), f"{len(decisions):,}", *cells)
            first = False
    return table


def _bins_table(decisions: Decisions) -> Table:
    table = _table("P", None, "Number", "Mean P %", "Right %")
    for each in decisions.bins():
        row = f"{each.count:,}", _percent(each.confidence), _percent(each.accuracy)
        table.add_row(f"{each.least:.1f} – {each.most:.1f}", *row)
    return table


def _risk_table(decisions: Decisions) -> Table:
    table = _table("min_probability", None, "Links kept %", "Wrong of these %")
    for each in decisions.risk_coverage():
        table.add_row(f"{each.threshold:g}", _percent(each.coverage), _percent(each.risk))
    return table


def _table(first: str, second: str | None, *numbers: str) -> Table:
    """A table with columns of text, then of numbers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in (first, second):
        if name is not None:
            table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _percent(value: float) -> str:
    return "–" if value != value else f"{100 * value:.1f}"
