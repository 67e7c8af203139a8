"""The model card: metadata that the Hub reads, and what a reader should know before using a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from ..configuration.reading_settings import ReadingSettings
from ..configuration_corefel import CorefELConfig
from ..heads import Calibration, make_head
from ..utils.characters import printable
from ..utils.json_files import read_json
from .card_examples import widget_examples
from .card_facts import BUNDLED, CardFacts
from .card_text import code_block, plain_text, python_literal, shell_command
from .card_usage import point_card_to, usage
from .score_tables import development_table, fairness_table, score_table

__all__ = ["BUNDLED", "CardFacts", "model_card", "model_card_of_folder", "point_card_to"]

_TAGS = ["coref-el", "coreference-resolution", "entity-linking"]
# Scores of `hf_corefel.metrics.evaluate` that a card reports, and what readers know them as.
_SCORES = {
    "coref_f1": "coreference (mean of MUC, B³, CEAFₑ)",
    "el_mention_f1": "entity linking by mention (EL_m)",
    "el_hard_f1": "entity linking by cluster (EL_h)",
}
# Options of a training command that name places of one machine or what is written, not what is learnt.
_NO_HYPER_PARAMETERS = {
    "data_dir", "encoder", "knowledge_base", "limit", "logging_steps", "model", "output_dir", "report_to",
    "save_steps", "save_strategy", "save_total_limit", "disable_tqdm",
}  # fmt: skip

_INTENDED_USE = """\
Annotating texts of the kind that the model was trained on, and fine-tuning on one's own. It finds mentions, clusters
those that name one thing, and links each cluster to an entity of its knowledge base or to none (NIL). Check links
before acting on them, above all about people; do not take a missing link for proof that something is unknown."""

_LIMITATIONS = """\
- Candidates come from matches of a surface in the alias table, however it is written. An entity that no mention of a
  cluster has among its candidates cannot be linked.
- Mentions of more than {longest_mention} are missed.
- Probabilities are the model's own. {calibration}
- Models of the world in training texts carry their biases."""

_CALIBRATION = {
    False: "They have not been calibrated on other kinds of text.",
    True: "A calibration was fitted to annotated texts; after further training, or on yours, they may be off: see "
    "`hf-corefel calibrate`.",
}

_MORE_SCORES = """\
F1, and the accuracy of hard cases. Where mentions are given, the model finds clusters and links only. Candidate recall
is the share of linked gold mentions that have their entity among their own candidates; gold share is that of spans with
candidates that are gold mentions: the lower, the less the alias table gives away."""

_DEVELOPMENT = """\
F1 end to end, each corpus under its own mention scope, and the expected calibration error of links. The documents chose
among models, and were not trained on."""

_FAIRNESS = """\
Short sentences written for this purpose (`experiments/fairness.py`): two people and a pronoun, with 24 jobs; strangers
with names of ten origins; and, where it stands below, GAP. Equal treatment would show as equal shares; a stranger who
is linked to somebody is always wrong."""

_CITATION = """\
```bibtex
@inproceedings{zaporojets-etal-2022-towards,
    title = "Towards Consistent Document-level Entity Linking: Joint Models for Entity Linking and Coreference Resolution",
    author = "Zaporojets, Klim and Deleu, Johannes and Jiang, Yiwei and Demeester, Thomas and Develder, Chris",
    booktitle = "Proceedings of the 60th Annual Meeting of the Association for Computational Linguistics (Volume 2: Short Papers)",
    year = "2022",
    pages = "778--784",
    doi = "10.18653/v1/2022.acl-short.88",
}
```"""  # noqa: E501


def model_card(
    config: CorefELConfig,
    *,
    facts: CardFacts | None = None,
    repo_id: str | None = None,
    knowledge_base: Mapping[str, Any] | None = None,
    record: Mapping[str, Any] | None = None,
    scores: Mapping[str, Any] | None = None,
    development: Mapping[str, Any] | None = None,
    hyper_parameters: Mapping[str, Any] | None = None,
    more_scores: Sequence[Mapping[str, Any]] = (),
    fairness: Mapping[str, Any] | None = None,
    corpora: Mapping[str, Mapping[str, Any]] | None = None,
    adapter: bool = False,
) -> str:
    """The model card as text.

    Args:
        config: The model's configuration.
        facts: What no file of the model says.
        repo_id: Where the model is, for the lines on how to use it; the bundled checkpoint when None.
        knowledge_base: Its ``kb_config.json``.
        record: ``train_ids``, ``command``, ``seed``, ``commit``, ``versions``, each if known.
        scores: What `hf_corefel.evaluation.evaluate_corpus` returned.
        development: Scores of `hf_corefel.metrics.evaluate` on development documents; by name where these are several
            datasets.
        hyper_parameters: Names and values; the options of the record's command when None.
        more_scores: What `evaluate_corpus` returned on other corpora or in other ways.
        fairness: What `experiments/fairness.py` measured.
        corpora: What `experiments/development_scores.py` measured, by corpus.
        adapter: Whether the repository holds an adapter. Its base is looked for there by `load_pipeline` only.
    """
    facts, record = facts or CardFacts(), record or {}
    by_dataset = _by_dataset(development)
    parts = [
        f"# {plain_text(facts.title)}",
        (facts.summary or "Coreference resolution and entity linking of documents as one structured prediction.")
        + f" A `CorefELModel` with the `{config.head}` head: {make_head(config).summary}.",
        "## How to use",
        usage(repo_id, adapter=adapter),
        "## Intended use",
        _INTENDED_USE,
        "## What it is made of",
        "\n".join(f"- {point}" for point in _making(config, facts, knowledge_base)),
        "## Training",
        *_training(facts, record, hyper_parameters),
    ]
    if scores:
        corpus, split = plain_text(_corpus(scores)), plain_text(_split(scores))
        parts += [f"## Scores on {corpus} {split}, end to end", *_test_scores(scores)]
    if more_scores:
        parts += ["## Scores on other corpora and in other ways", _MORE_SCORES, score_table(more_scores)]
    if by_dataset:
        tables = ((name and f"{plain_text(name)}:", _table(_rows(found))) for name, found in by_dataset.items())
        parts += ["## Scores on development documents", *filter(None, chain.from_iterable(tables))]
    if corpora:
        parts += ["## Scores on development documents of several corpora", _DEVELOPMENT, development_table(corpora)]
    if fairness:
        parts += ["## Pronouns, jobs and names", _FAIRNESS, fairness_table(fairness)]
    limits = [f"- {limit}" for limit in facts.limitations]
    values = {
        "longest_mention": _longest_mention(config),
        "calibration": _CALIBRATION[not Calibration.from_dict(config.calibration).is_identity],
    }
    parts += ["## Limitations", "\n".join([*limits, _LIMITATIONS.format(**values)])]
    parts += ["## Citation", _CITATION]
    return f"---\n{_metadata(facts, repo_id, scores, by_dataset)}\n---\n\n" + "\n\n".join(parts) + "\n"


def _longest_mention(config: CorefELConfig) -> str:
    """The words of the longest mention, with the scopes that have more than the others."""
    scopes = config.mention_scopes or {}
    most = {name: fields.get("max_span_words", config.max_span_words) for name, fields in scopes.items()}
    least = min(most.values(), default=config.max_span_words)
    others = [f"{words} under the scope `{name}`" for name, words in sorted(most.items()) if words != least]
    return f"{least} words" + (f" ({', '.join(others)})" if others else "")


def model_card_of_folder(folder: str | Path, *, facts: CardFacts | None = None, repo_id: str | None = None) -> str:
    """The card of a saved model, from its configuration and whatever records lie beside it.

    These are ``knowledge_base/kb_config.json``, ``training_record.json``, ``test_scores.json``, ``more_scores.json``,
    ``development_scores.json`` and ``fairness.json``.

    Raises:
        OSError: When there is no configuration.
        ValueError: When a file is damaged or does not hold what such a file holds; the message names it.
    """
    folder = Path(folder)
    config, facts = CorefELConfig.from_pretrained(folder), facts or CardFacts()

    def read(name: str, render: Callable[[Any], object]) -> Any:
        path = folder / name
        if not path.is_file():
            return {}
        content = read_json(path)
        try:
            if type(content) is not (list if render is score_table else dict):
                raise TypeError(f"a {type(content).__name__}")
            render(content)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path}: not what this package writes there ({type(error).__name__}: {error}); remove or repair it"
            ) from error
        return content

    def render_record(record: Any) -> None:
        list(_training(facts, record, record.get("hyper_parameters")))
        for found in _by_dataset(record.get("development_scores")).values():
            _table(_rows(found))

    record = read("training_record.json", render_record)
    return model_card(
        config,
        facts=facts,
        repo_id=repo_id,
        knowledge_base=read("knowledge_base/kb_config.json", lambda kb: list(_making(config, facts, kb))),
        record=record,
        scores=read(
            "test_scores.json", lambda scores: (list(_test_scores(scores)), _metadata(facts, None, scores, {}))
        ),
        development=record.get("development_scores") if record else None,
        hyper_parameters=record.get("hyper_parameters") if record else None,
        more_scores=read("more_scores.json", score_table) or (),
        fairness=read("fairness.json", fairness_table),
        corpora=read("development_scores.json", development_table),
    )


def _by_dataset(development: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Scores on development documents by the name of their dataset, which is empty where there is but one."""
    given = development or {}
    named = given if any(isinstance(value, Mapping) for value in given.values()) else {"": given}
    found = {
        dataset: {name.removeprefix("eval_"): value for name, value in scores.items()}
        for dataset, scores in named.items()
    }
    return {dataset: scores for dataset, scores in found.items() if any(name in scores for name in _SCORES)}


def _metadata(
    facts: CardFacts,
    repo_id: str | None,
    scores: Mapping[str, Any] | None,
    by_dataset: Mapping[str, Mapping[str, Any]],
) -> str:
    results = []
    if scores:
        values = {name: value for name, (value, _) in _named_scores(scores).items()}
        results += _results(values, _corpus(scores), _split(scores))
    else:
        data = facts.datasets[0] if facts.datasets else "documents of the user's"
        results += [each for name, found in by_dataset.items() for each in _results(found, name or data, "validation")]
    data = ModelCardData(
        language=printable(facts.language),
        license=None if facts.license is None else printable(facts.license),
        library_name="hf-corefel",
        pipeline_tag="token-classification",
        tags=list(_TAGS),
        base_model=None if facts.base_model is None else printable(facts.base_model),
        datasets=[printable(name) for name in facts.datasets if "/" in name] or None,
        metrics=["f1"],
        model_name=printable(repo_id.split("/")[-1] if repo_id else facts.title),
        eval_results=results or None,
        # The Hub knows no task of this kind; the widget of the nearest one shows these texts.
        widget=widget_examples(facts) or None,
    )
    return str(data.to_yaml())


def _results(values: Mapping[str, float], dataset: str, split: str) -> list[EvalResult]:
    return [
        EvalResult(
            task_type="token-classification",
            task_name="Coreference resolution and entity linking",
            dataset_type=printable(dataset).lower().replace(" ", "-"),
            dataset_name=printable(dataset),
            dataset_split=printable(split),
            metric_type=name,
            metric_name=f"F1 of {label}",
            metric_value=round(float(values[name]), 4),
        )
        for name, label in _SCORES.items()
        if name in values
    ]


def _making(config: CorefELConfig, facts: CardFacts, kb: Mapping[str, Any] | None) -> Iterator[str]:
    if facts.base_model:
        yield f"Encoder: {plain_text(facts.base_model)}."
    head = make_head(config)
    for name, option in head.options.items():
        value = getattr(head, name)
        yield f"`{name}={python_literal(value) if isinstance(value, str) else value}`: {option.doc}."
    yield (
        f"Spans of up to {config.max_span_words} words, of which {config.span_keep_ratio} a word and at least "
        f"{config.min_kept_spans} are kept, {config.max_candidates} candidates a span, windows of "
        f"{config.window_size} pieces."
    )
    standard = ReadingSettings.of(config).default_scope
    for name, fields in sorted((config.mention_scopes or {}).items(), reverse=True):
        words = fields.get("max_span_words", config.max_span_words)
        ratio = fields.get("span_keep_ratio", config.span_keep_ratio)
        default = " (the default)" if name == standard else ""
        yield f"Mention scope `{name}`{default}: spans of up to {words} words, {ratio} a word kept."
    fitted = Calibration.from_dict(config.calibration)
    if not fitted.is_identity:
        unchanged = Calibration().to_dict()
        values = (f"`{name}={value:g}`" for name, value in fitted.to_dict().items() if value != unchanged[name])
        yield f"Calibration of the scores: {', '.join(values)}."
    if kb and "num_surfaces" not in kb:
        yield f"Knowledge base: backend `{plain_text(kb.get('backend', ''))}`, see `hf_corefel.candidates`."
    elif kb:
        yield (
            f"Knowledge base: {kb['num_surfaces']:,} surfaces, {kb['num_entities']:,} entities, vectors of "
            f"{kb['vector_size']} dimensions."
        )
    yield from facts.notes


def _training(facts: CardFacts, record: Mapping[str, Any], given: Mapping[str, Any] | None) -> Iterator[str]:
    articles = len(record.get("train_ids") or ())
    data = facts.training_data or f"Data: {', '.join(map(plain_text, facts.datasets)) or 'not recorded'}."
    if articles:
        data += f" {articles} documents or parts of documents, whose ids stand in `training_record.json`."
    yield data
    runs = _runs(record)
    for number, run in enumerate(runs):
        last = run is runs[-1]
        if run.get("command"):
            yield "Command:" if last else "First command:" if number == 0 else "Then:"
            yield code_block(shell_command(list(run["command"])), "sh")
        if run.get("weights_averaged_over"):
            steps = ", ".join(map(plain_text, run["weights_averaged_over"]))
            share = run.get("share_of_the_start")
            mixed = f", with a share of {share:.0%} of those that it started from" if share else ""
            these = "These weights are" if last else "The next command started from"
            yield f"{these} the mean of those after {steps}{mixed}."
    command: list[str] = list(record.get("command") or ())
    values = dict(given if given is not None else _options(command))
    for name in ("seed", "commit"):
        if record.get(name) is not None:
            values.setdefault(name, record[name])
    values |= {f"version of {name}": number for name, number in (record.get("versions") or {}).items()}
    if values:
        yield "Hyper-parameters:"
        rows = (f"| {plain_text(name)} | {plain_text(value)} |" for name, value in values.items())
        yield "| | |\n|---|---|\n" + "\n".join(rows)


def _runs(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The records of a training and of those that it started from, the first one first."""
    runs = [record]
    while runs[0].get("started_from"):
        runs.insert(0, runs[0]["started_from"])
    return runs


def _options(command: Sequence[str]) -> dict[str, str]:
    """``--name value`` pairs of a command that say how training went."""
    named = {
        name[2:]: value for name, value in pairwise(command) if name.startswith("--") and not value.startswith("--")
    }
    return {name: value for name, value in named.items() if name not in _NO_HYPER_PARAMETERS}


def _corpus(scores: Mapping[str, Any]) -> str:
    return str(scores.get("corpus", "DWIE"))


def _split(scores: Mapping[str, Any]) -> str:
    return str(scores.get("split", "test"))


def _named_scores(scores: Mapping[str, Any]) -> dict[str, tuple[float, str]]:
    """Value and interval by name, from the nested form of `evaluate_corpus`."""
    linking, intervals = scores["entity_linking"], scores.get("interval_95", {})
    values = {
        "coref_f1": scores["coreference"]["average_f1"],
        "el_mention_f1": linking["el_m"]["f1"],
        "el_hard_f1": linking["el_h"]["f1"],
    }
    return {name: (value, intervals.get(name, "")) for name, value in values.items()}


def _rows(values: Mapping[str, Any]) -> dict[str, tuple[float, str]]:
    return {name: (float(values[name]), "") for name in _SCORES if name in values}


def _table(rows: Mapping[str, tuple[float, str]]) -> str:
    lines = [f"| {_SCORES[name]} | {value:.4f} | {plain_text(interval)} |" for name, (value, interval) in rows.items()]
    return "\n".join(["| | F1 | 95 % |", "|---|---|---|", *lines])


def _test_scores(scores: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"From the text alone; fractions of 1, micro over {scores['documents']:d} documents, with 95 % bootstrap "
        "intervals over documents."
    )
    yield _table(_named_scores(scores))
    hard = scores["hard_cases"]
    yield (
        "Hard cases (the mention's own candidates lack the entity, another mention's have it): "
        f"{hard['accuracy']:.4f} of {hard['mentions']:d} right."
    )
    table = scores["alias_table"]
    share, recall = table["gold_share_of_spans_with_candidates"], table["candidate_recall_of_linked_mentions"]
    yield (
        "**What leaks.** An alias table that was made from a corpus gives its mentions away: "
        f"{share:.0%} of the scored texts' spans with candidates are gold mentions. With a table that was not made "
        f"from this corpus, expect lower scores. {recall:.1%} of the linked mentions have their entity among their "
        "own candidates."
    )
