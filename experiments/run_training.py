"""Training and evaluating one run: checkpoints every few minutes, what it cost, and what is found in each part."""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from run_corpora import Part, RunCorpus
from run_files import Run
from stored_results import document_counts, read_predictions, write_counts, write_predictions
from transformers import AutoTokenizer, TrainerCallback, set_seed

from hf_corefel import (
    AnnotatedDocument,
    Cluster,
    CorefELConfig,
    CorefELModel,
    CorefELProcessor,
    CorefELTrainer,
    CorefELTrainingArguments,
    KnowledgeBase,
    Mention,
)
from hf_corefel.candidates.document_candidates import entities_of_span
from hf_corefel.evaluation import candidate_share
from hf_corefel.heads import Decoding, EdgeScores, GlobalHead, HeadMarginals
from hf_corefel.pipeline_corefel import CorefELPipeline
from hf_corefel.training.checkpoints import BrokenCheckpointError, newest_whole_checkpoint
from hf_corefel.utils.files import whole_file

__all__ = ["Places", "check_training", "cost_of", "environment", "evaluate", "knowledge_of", "merged", "train"]

_COST = "cost.json"
# Beside checkpoints and weights: what they were trained with.
_TRAINING = "training.json"
_FINAL = "final"


@dataclass(frozen=True)
class Places:
    """Where things lie on this machine, which the files of runs do not say.

    Attributes:
        work: Folder for checkpoints and trained weights.
        encoders: Folders of encoders by name; others are ids on the Hub.
        knowledge_bases: Folders of knowledge bases by name.
        save_every: Seconds between checkpoints.
    """

    work: Path
    encoders: Mapping[str, Path]
    knowledge_bases: Mapping[str, Path]
    save_every: float = 240.0

    def weights(self, name: str) -> Path:
        """Return where the trained model of a run lies when it is there."""
        return self.work / name / _FINAL


# Training ---------------------------------------------------------------------------------------------


def check_training(run: Run, places: Places, results: Path) -> None:
    """Raise unless checkpoints and weights of a run, where there are any, are of the settings that it has now.

    A folder without a record of them, as older versions left it, is taken as it is.

    Raises:
        ValueError: When they are of others; the message names the folders.
    """
    folder = places.work / run.name
    path = folder / _TRAINING
    if not path.is_file():
        return
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: damaged ({error}); remove {folder} and run it again") from error
    now = run.training
    if before != now:
        fields = [name for name in now if not isinstance(before, dict) or before.get(name) != now[name]]
        raise ValueError(
            f"{folder}: what is there was trained with another {', '.join(fields)} than the file of the run says now; "
            f"remove {results / run.name} and {folder}, then run it again"
        )


def train(run: Run, corpus: RunCorpus, kb: KnowledgeBase, places: Places) -> None:
    """Train the model of a run and save its weights; a training that was interrupted goes on from its checkpoint."""
    folder = places.work / run.name
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / _TRAINING) as place:
        place.write_text(json.dumps(run.training, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    settings = run.settings
    set_seed(settings["seed"])
    encoder = str(places.encoders.get(settings["encoder"], settings["encoder"]))
    model = CorefELModel.from_encoder(
        encoder,
        encoder_kwargs=dict(settings["encoder_config"]),
        entity_vector_size=kb.vector_size,
        **settings["config"],
    )
    processor = _processor_of(run, kb, places, model.config)
    checkpoints = folder / "checkpoints"
    arguments = CorefELTrainingArguments(
        str(checkpoints),
        seed=settings["seed"],
        # The callback below says when.
        save_strategy="no",
        save_total_limit=1,
        eval_strategy="no",
        logging_steps=50,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        **settings["training"],
    )
    cost = _Cost(folder / _COST)
    saving = _SaveNowAndThen(places.save_every, cost)
    trainer = CorefELTrainer(model, arguments, processor, train_dataset=corpus.train(), callbacks=[saving])
    trainer.train(resume_from_checkpoint=_begun(checkpoints))
    cost.write(steps=trainer.state.global_step)
    partial = folder / f"{_FINAL}.part"
    shutil.rmtree(partial, ignore_errors=True)
    model.save_pretrained(partial)
    partial.rename(folder / _FINAL)
    shutil.rmtree(checkpoints, ignore_errors=True)


def _begun(checkpoints: Path) -> str | None:
    """The newest whole checkpoint, None where there is none to go on from."""
    try:
        return str(newest_whole_checkpoint(checkpoints))
    except BrokenCheckpointError:
        return None


class _Cost:
    """Adds up what the processes that trained a run took, each as far as its last checkpoint."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self._begun = time.monotonic(), _cpu_seconds()

    def write(self, **more: int) -> None:
        seconds = time.monotonic() - self._begun[0]
        content = {
            "seconds": round(self._before.get("seconds", 0.0) + seconds, 1),
            "cpu_seconds": round(self._before.get("cpu_seconds", 0.0) + _cpu_seconds() - self._begun[1], 1),
            "peak_megabytes": max(self._before.get("peak_megabytes", 0), _peak_megabytes()),
            **more,
        }
        with whole_file(self._path) as place:
            place.write_text(json.dumps(content) + "\n", encoding="utf-8")


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak_megabytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6)


class _SaveNowAndThen(TrainerCallback):
    """Asks for a checkpoint when the last one is some seconds old."""

    def __init__(self, seconds: float, cost: _Cost) -> None:
        self._seconds, self._cost = seconds, cost
        self._last = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        control.should_save = control.should_save or time.monotonic() - self._last >= self._seconds

    def on_save(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        self._last = time.monotonic()
        self._cost.write(steps=state.global_step)


# Evaluation -------------------------------------------------------------------------------------------


def evaluate(
    run: Run, part: Part, kb: KnowledgeBase, places: Places, results: Path, folder: Path, name: str
) -> dict[str, Any]:
    """Annotate the texts of a part with the trained model, store predictions and counts, and say what the table knows.

    Args:
        run: The run.
        part: The part.
        kb: The knowledge base.
        places: Where the weights are.
        results: The stored results, of which a run that merges others reads theirs.
        folder: Where this run's are written.
        name: The name of the part.

    Returns:
        Documents, seconds that annotating took, and what having candidates gives away.
    """
    begun = time.monotonic()
    if run.merges:
        texts = {str(text.id): text.text for text in part.texts}
        stored = [read_predictions(results / other / f"{name}.predictions.jsonl.gz", texts) for other in run.merges]
        predicted = [merged(clusters, links) for clusters, links in zip(*stored, strict=True)]
        processor = _processor_of(
            run, kb, places, CorefELConfig(entity_vector_size=kb.vector_size, **run.settings["config"])
        )
    else:
        pipeline = _pipeline(run, kb, places)
        processor = pipeline.processor
        begun = time.monotonic()
        predicted = list(_annotated(run, pipeline, part))
    seconds = time.monotonic() - begun
    limit = processor.settings.max_candidates
    counts = []
    for gold, found in zip(part.gold, predicted, strict=True):
        offsets = [mention.offsets for cluster in gold.clusters or [] for mention in cluster.mentions]
        counts.append(document_counts(gold, found, {o: entities_of_span(kb, gold, o, limit) for o in offsets}))
    write_predictions(folder / f"{name}.predictions.jsonl.gz", predicted)
    write_counts(folder / f"{name}.counts.json.gz", [str(gold.id) for gold in part.gold], counts)
    share = candidate_share(part.gold, processor, part.texts)
    return {"documents": len(part.gold), "seconds": round(seconds, 1), **_rounded(share.to_dict())}


def _rounded(numbers: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in numbers.items()}


def _pipeline(run: Run, kb: KnowledgeBase, places: Places) -> CorefELPipeline:
    kind = _RiskModel if run.decoding == "min_bayes_risk" else CorefELModel
    model = kind.from_pretrained(places.weights(run.weights_of or run.name)).eval()
    return CorefELPipeline(model=model, processor=_processor_of(run, kb, places, model.config), task="coref-el")


def _processor_of(run: Run, kb: KnowledgeBase, places: Places, config: CorefELConfig) -> CorefELProcessor:
    encoder = str(places.encoders.get(run.settings["encoder"], run.settings["encoder"]))
    return CorefELProcessor(AutoTokenizer.from_pretrained(encoder, trust_remote_code=False), kb, config)


def _annotated(run: Run, pipeline: CorefELPipeline, part: Part) -> Iterator[AnnotatedDocument]:
    top = 1 if run.decoding == "marginals" else 0
    for text in part.texts:
        (found,) = pipeline.annotate([text], top_k=top)
        yield _by_marginals(found) if run.decoding == "marginals" else found


def _by_marginals(document: AnnotatedDocument) -> AnnotatedDocument:
    """The clusters of the best tree, each linked to what is most probable over all trees; one for each entity."""
    joined: dict[object, Cluster] = {}
    for number, cluster in enumerate(document.clusters):
        assert cluster.alternatives is not None
        best = cluster.alternatives[0] if cluster.alternatives else None
        entity, probability = (None, cluster.probability) if best is None else (best.entity, best.probability)
        key = number if entity is None else entity
        earlier = joined[key].mentions if key in joined else ()
        mentions = tuple(sorted((*earlier, *cluster.mentions), key=lambda mention: mention.offsets))
        joined[key] = Cluster(mentions, entity, probability)
    return replace(document, clusters=sorted(joined.values(), key=lambda cluster: cluster.mentions[0].offsets))


def merged(clusters: AnnotatedDocument, links: AnnotatedDocument) -> AnnotatedDocument:
    """Return the clusters of one prediction with the links of another, each cluster linked by the vote of its mentions.

    Of equal votes the more probable link wins. Linked mentions that are in no cluster join those of their link, and
    clusters of one link are one, as in the joint models.
    """
    linked = {m.offsets: (m, c) for c in links.clusters if c.entity is not None for m in c.mentions}
    groups: list[tuple[list[Mention], str | None]] = []
    for cluster in clusters.clusters:
        votes: dict[str, tuple[int, float]] = {}
        for mention in cluster.mentions:
            if mention.offsets in linked:
                link = linked.pop(mention.offsets)[1]
                assert link.entity is not None
                votes[link.entity] = votes.get(link.entity, (0, 0.0))[0] + 1, link.probability or 0.0
        entity = max(votes, key=lambda name: (votes[name], name)) if votes else None
        groups.append((list(cluster.mentions), entity))
    groups += [([mention], link.entity) for mention, link in linked.values()]
    joined: dict[object, list[Mention]] = {}
    for number, (mentions, entity) in enumerate(groups):
        joined.setdefault(number if entity is None else entity, []).extend(mentions)
    found = [
        Cluster(tuple(sorted(mentions, key=lambda m: m.offsets)), key if isinstance(key, str) else None)
        for key, mentions in joined.items()
    ]
    return replace(clusters, clusters=sorted(found, key=lambda cluster: cluster.mentions[0].offsets))


class _RiskPosterior:
    """As the global head's posterior, with the tree of the lowest Bayes risk in place of the best one."""

    def __init__(self, head: GlobalHead, scores: EdgeScores) -> None:
        self._posterior = GlobalHead.posterior(head, scores)
        self._device = scores.mention.device

    @property
    def decoding(self) -> Decoding:
        return Decoding(self._posterior.distribution.min_bayes_risk().parents.to(self._device))

    @property
    def marginals(self) -> HeadMarginals:
        return self._posterior.marginals


class _RiskHead(GlobalHead):
    """The global head, decoded by minimum Bayes risk."""

    def posterior(self, scores: EdgeScores) -> Any:
        return _RiskPosterior(self, scores)


class _RiskModel(CorefELModel):
    """A model with the global head, decoded by minimum Bayes risk."""

    @property
    def head(self) -> _RiskHead:
        return _RiskHead(self.config.edge_activation, self.config.root_score)


# What was there ---------------------------------------------------------------------------------------


def knowledge_of(kb: KnowledgeBase, folder: Path) -> dict[str, Any]:
    """Return what tells one knowledge base from another."""
    content = json.loads((folder / "kb_config.json").read_text(encoding="utf-8"))
    return {"content_fingerprint": content.get("content_fingerprint"), "entities": kb.num_entities}


def environment() -> dict[str, Any]:
    """Return the versions, the commit and the processor that a run had."""
    found: dict[str, Any] = {"python": platform.python_version(), "threads": torch.get_num_threads()}
    found |= {name: version(name) for name in ("torch", "transformers", "hf-corefel")}
    with suppress(OSError, subprocess.SubprocessError):
        here = Path(__file__).parent
        git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True)
        found["commit"] = git.stdout.strip()
    found["processor"] = _processor()
    found["cores"] = os.cpu_count()
    return found


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cost_of(run: Run, places: Places) -> dict[str, Any]:
    """Return what training a run took; nothing where none was trained."""
    path = places.work / run.name / _COST
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
