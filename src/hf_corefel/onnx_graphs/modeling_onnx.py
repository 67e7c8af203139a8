"""The model with onnxruntime in place of torch: what `export_onnx` wrote, for annotating."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from ..configuration_corefel import OWN_FIELDS, CorefELConfig
from ..layers import WindowEncoder
from ..layers.enumerated import PrunedSpans, SpanTensors, choose_spans, log_odds
from ..layers.model_output import CorefELOutput
from ..loading.foreign_code import loading_from
from ..loading.quantizing import means_int8
from ..loading.repositories import HubOptions, Origin, checked_name, download_folder
from ..loading.saved_folder import replaced_model_files
from ..modeling_corefel import CorefELModel
from ..utils.files import sha256_of
from .folder import FOLDER, LIST_FILE, Graphs, check_configuration, read_graphs
from .parts import OWN, PRUNING_INPUTS, SPAN_INPUTS, at_least_one, at_least_two, retained_inputs, span_tensors
from .sessions import GraphSession

__all__ = ["OnnxCorefELModel"]

# Windows, and spans of a batch, that are read at once: bounds the memory of long documents.
_WINDOWS, _SPANS = 8, 8_192


class OnnxCorefELModel(CorefELModel):
    """A `CorefELModel` whose parts are graphs of ONNX, on the CPU; it has no weights, and cannot be trained.

    It takes the model's place in `CorefELPipeline`, with every head, scope, constraint and given mention. The head is
    the one that was exported.

    Args:
        config: The model's configuration.
        graphs: The graphs.

    Raises:
        ImportError: When onnxruntime is missing.
        ValueError: When a graph is damaged, or the configuration asks for something else.

    Example:
        >>> from hf_corefel.onnx_graphs import OnnxCorefELModel
        >>> model = OnnxCorefELModel.from_pretrained("exported")  # doctest: +SKIP
        >>> annotate = pipeline("coref-el", model=model)  # doctest: +SKIP
    """

    only_device = "cpu"

    def __init__(self, config: CorefELConfig, graphs: Graphs) -> None:
        self._graphs = graphs
        super().__init__(config)

    def _build(self, config: CorefELConfig) -> None:
        encoder = _GraphEncoder(config.encoder_config, self._graphs)
        self.encoder = WindowEncoder(encoder, by_length=self._graphs.by_length)
        self._mentions, self._vectors, self._edges = (
            GraphSession(self._graphs.path(part)) for part in ("mentions", "vectors", "edges")
        )
        self._modules_of_heads = set(config.head_modules)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Self:
        """Load what `export_onnx` wrote.

        Args:
            pretrained_model_name_or_path: Folder or Hub id.
            *args: None.
            **kwargs: ``revision``, ``cache_dir``, ``token``, ``local_files_only``, ``subfolder`` and
                ``trust_remote_code`` as of a model; ``dtype`` must be what was exported; fields of `CorefELConfig` that
                are about reading, such as ``max_candidates``.

        Raises:
            ImportError: When onnxruntime is missing.
            OSError: When a file is missing.
            TypeError: When there is no such argument.
            ValueError: When a file is damaged or does not fit the others.
        """
        name, options = checked_name(pretrained_model_name_or_path), HubOptions.pick(kwargs)
        given = {key: value for key, value in kwargs.items() if key not in HubOptions.names()}
        trust = given.pop("trust_remote_code", None) is True
        dtypes = [dtype for key in ("dtype", "torch_dtype") if (dtype := given.pop(key, None)) not in (None, "auto")]
        unknown = [*map(repr, args), *sorted(set(given) - set(OWN_FIELDS))]
        if unknown:
            raise TypeError(f"backend='onnx' takes no {unknown[0]}: it computes what was exported, on the CPU")
        graphs = read_graphs(download_folder(name, FOLDER, options), name)
        for dtype in dtypes:
            if graphs.precision != ("int8" if means_int8(dtype) else str(dtype).removeprefix("torch.")):
                raise ValueError(
                    f"{name}: its ONNX graphs are {graphs.precision}, and dtype is {dtype}; leave it out, or export "
                    "the model again"
                )
        with loading_from(name, options, trust_remote_code=trust):
            config = CorefELConfig.from_pretrained(name, **given, **options.to_kwargs())
            check_configuration(graphs, config, name)
            model = cls(config, graphs)
        model.name_or_path = name
        model.origin = Origin(options, {}, trust, chose_dtype=True)
        return model.eval()

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        """What scores are computed in, whatever the encoder's weights are."""
        return torch.float32

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Refuse another device or precision than it has.

        Raises:
            ValueError: For another one.
        """
        device, dtype, *_ = torch._C._nn._parse_to(*args, **kwargs)
        if (device is not None and device.type != "cpu") or dtype not in (None, torch.float32):
            raise ValueError(f"backend='onnx' computes on the CPU in single precision, not {device or dtype}")
        return self

    def get_input_embeddings(self) -> nn.Module:
        return nn.Embedding(self._graphs.subwords, self.config.get_text_config().hidden_size, device="meta")

    @property
    def reads_long_documents(self) -> bool:
        """False: the graph of edges scores all pairs of a document's spans."""
        return False

    def set_head(self, head: str) -> list[str]:
        """Refuse another head than the one that was exported.

        Raises:
            ValueError: For another one.
        """
        if head != self.config.head:
            raise ValueError(f"set_head: the graphs have the head {self.config.head!r}; export the model with {head!r}")
        return []

    def prune(
        self,
        windows: tuple[Tensor, Tensor, Tensor],
        spans: SpanTensors,
        limits: Tensor,
        keep_all: Tensor,
        also: Tensor | None = None,
    ) -> PrunedSpans:
        count, (input_ids, mask, positions) = spans.begin.shape[1], windows
        table = at_least_one(_named(spans, subword_positions=positions, also_retain=also))
        spans, also = span_tensors(table), table.get("also_retain")
        subwords = self.encoder(input_ids, mask, table["subword_positions"])
        step = max(1, _SPANS // len(spans.begin))
        parts = (spans.between(start, start + step) for start in range(0, spans.begin.shape[1], step))
        scores = torch.cat([self._mentions(_named(part, subwords=subwords))["span_scores"] for part in parts], dim=1)
        least = log_odds(self.config.min_mention_probability)
        retained, order = choose_spans(scores, spans, limits, keep_all, also, least)
        retained, order = at_least_two(retained), None if order is None else at_least_two(order)
        of_retained = spans.at(retained.clamp(min=0), retained >= 0)
        vectors = self._vectors(_named(of_retained, subwords=subwords))["vectors"]
        return PrunedSpans(scores[:, :count], retained, vectors, order)

    def forward(self, *, pruned: PrunedSpans | None = None, **tensors: Any) -> CorefELOutput:  # type: ignore[override]
        """Score the edges of a batch of documents, from what `CorefELProcessor` gives; see `CorefELModel.forward`.

        Raises:
            ValueError: When gold is given: it cannot be trained.
        """
        if tensors.get("gold_clusters") is not None:
            raise ValueError("gold_clusters: ONNX graphs cannot be trained; train the model that they were exported of")
        given: dict[str, Tensor] = {name: value for name, value in tensors.items() if value is not None}
        if pruned is None:
            input_ids, attention_mask, positions, limits, keep_all = (given[name] for name in PRUNING_INPUTS[:5])
            windows = input_ids, attention_mask, positions
            pruned = self.prune(windows, span_tensors(given), limits, keep_all, given.get("also_retain"))
        known = {"span_scores": pruned.scores, "retained": pruned.retained}
        found = self._edges(at_least_one({**given, **retained_inputs(pruned)}))
        own = {name.removeprefix(OWN): found.pop(name) for name in list(found) if name.startswith(OWN)}
        return CorefELOutput(**known, **found, own_scores=own or None)

    def save_pretrained(self, save_directory: str | Path, *args: Any, **kwargs: Any) -> None:
        """Copy the graphs, and write the configuration, as `CorefELModel.save_pretrained` replaces an earlier model.

        Args:
            save_directory: The folder.
            *args: Not used.
            **kwargs: Not used.

        Raises:
            FileBusyError: When another process has been saving there for minutes.
            ValueError: When a folder of the graphs' name is there that holds something else.
        """
        target = Path(save_directory) / FOLDER
        if target.is_dir() and any(target.iterdir()) and not (target / LIST_FILE).is_file():
            raise ValueError(f"{target}: it holds something else than exported graphs; name another folder")
        with replaced_model_files(save_directory) as staging:
            shutil.copytree(self._graphs.folder, staging / FOLDER)
            self.config.save_pretrained(staging)


class _GraphEncoder(nn.Module):
    """The encoder: takes and gives what those of transformers do."""

    main_input_name = "input_ids"

    def __init__(self, config: Any, graphs: Graphs) -> None:
        super().__init__()
        self.config, path = config, graphs.path("encoder")
        self._graph = GraphSession(path)
        # What tells entity vectors that are made with it from those of another encoder.
        digest = torch.tensor(list(bytes.fromhex(sha256_of(path))), dtype=torch.uint8)
        self.register_buffer("digest", digest)

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        return torch.float32

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **unused: Any) -> BaseModelOutput:
        """Read windows ``[V, L]``, some at a time."""
        parts = [
            self._graph({"input_ids": ids, "attention_mask": mask})["hidden"]
            for ids, mask in zip(input_ids.split(_WINDOWS), attention_mask.split(_WINDOWS), strict=True)
        ]
        return BaseModelOutput(last_hidden_state=torch.cat(parts))


def _named(spans: SpanTensors, **others: Tensor | None) -> dict[str, Tensor]:
    """Return what is told of spans, and other tensors, by the names that the parts take; what is None is left out."""
    table = {**dict(zip(SPAN_INPUTS, spans, strict=True)), **others}
    return {name: value for name, value in table.items() if value is not None}
