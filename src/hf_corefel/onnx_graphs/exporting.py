"""Writing a model and its processor as a folder of ONNX graphs."""

from __future__ import annotations

import copy
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.export import Dim

from ..hub.fingerprint import save_fingerprint
from ..loading.adapters import holds_adapters, merged_copy, plain_module
from ..loading.foreign_code import save_code
from ..loading.quantizing import is_quantised
from ..loading.saved_folder import holds_nothing, replaced_model_files
from ..modeling_corefel import CorefELModel
from ..processing_corefel import CorefELProcessor
from ..version import __version__
from .folder import FOLDER, LIST_FILE, PRECISIONS, Graphs, settings_of_graphs, write_list
from .modeling_onnx import OnnxCorefELModel
from .parts import parts_of
from .sessions import OUTPUT
from .translations import OPSET, translations

__all__ = ["export_onnx"]

_EXAMPLES = ["Barack Obama met Angela Merkel in Berlin. The chancellor praised him. " * 3, "Merkel left Berlin."]
# The most that a file of protocol buffers may hold, with room for the graph.
_MOST_BYTES = 1_900_000_000


def export_onnx(
    model: CorefELModel, processor: CorefELProcessor, folder: str | Path, *, dtype: str = "float32"
) -> Path:
    """Write a model and its processor as a folder that ``load_pipeline(folder, backend="onnx")`` reads without torch's
    weights: graphs of ONNX, configuration, tokenizer, knowledge base and fingerprint.

    Args:
        model: The model; it stays as it is. Its active head is what is exported, and adapters in it are merged.
        processor: Its processor.
        folder: Where to write; made when it does not exist. An earlier export there is replaced once the new one is
            whole, and nothing else is; its folders of graphs and knowledge base are its own.
        dtype: ``float32``, or ``int8`` for the encoder's weights (onnxruntime's dynamic quantisation); the scorers stay
            in single precision.

    Returns:
        The folder.

    Raises:
        FileBusyError: When another process has been writing there for minutes.
        ImportError: When onnx, onnxscript or onnxruntime is missing.
        ValueError: When the folder holds something else, the model is quantised or not trained, or torch cannot write
            its encoder.

    Example:
        >>> from hf_corefel import load_pipeline
        >>> from hf_corefel.onnx_graphs import export_onnx
        >>> annotate = load_pipeline()
        >>> export_onnx(annotate.model, annotate.processor, "exported", dtype="int8")  # doctest: +SKIP
    """
    if dtype not in PRECISIONS:
        raise ValueError(f"dtype: expected {' or '.join(PRECISIONS)}, got {dtype!r}")
    _check_packages()
    target = Path(folder)
    _check_place(target)
    model.check_weights()
    model = _plain_copy(model)
    with replaced_model_files(target) as staging:
        _write(model, processor, staging, dtype)
    return target


def _check_packages() -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"export_onnx needs onnx, onnxruntime and onnxscript: pip install 'hf-corefel[onnx]' ({error})"
        ) from error


def _check_place(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: it is a file; name a folder")
    is_export = (folder / FOLDER / LIST_FILE).is_file() and not any(folder.glob("*.safetensors"))
    if folder.exists() and not is_export and not holds_nothing(folder):
        raise ValueError(f"{folder}: it holds something else than an exported model; name a new folder")


def _plain_copy(model: CorefELModel) -> CorefELModel:
    """Return the model on the CPU in single precision, without adapters and compilation."""
    plain: Any = plain_module(model)
    if isinstance(plain, OnnxCorefELModel):
        raise ValueError("export_onnx: the model is one that was exported; export the one that it was made of")
    if is_quantised(plain):
        raise ValueError("export_onnx: the model is quantised; load it without, and export that with dtype='int8'")
    copied: CorefELModel = merged_copy(plain, None) if holds_adapters(plain) else copy.deepcopy(plain)
    return copied.cpu().float().eval()


def _write(model: CorefELModel, processor: CorefELProcessor, folder: Path, dtype: str) -> None:
    graphs_folder = folder / FOLDER
    graphs_folder.mkdir(parents=True)
    embeddings: Any = model.get_input_embeddings()
    graphs = Graphs(
        graphs_folder, dtype, model.encoder.by_length, embeddings.weight.shape[0], settings_of_graphs(model.config)
    )
    batch: dict[str, Tensor] = dict(processor(_EXAMPLES))
    for name, (part, example) in parts_of(model, batch).items():
        _write_graph(part, example, graphs.path(name), name)
    if dtype == "int8":
        quantize(graphs.path("encoder"))
    write_list(graphs, _versions())
    save_code(model.plain_encoder, model.config.encoder_config, folder)
    model.config.save_pretrained(folder)
    processor.save_pretrained(folder)
    save_fingerprint(OnnxCorefELModel.from_pretrained(folder, trust_remote_code=True), processor, folder)


def _write_graph(part: nn.Module, example: dict[str, Tensor], path: Path, name: str) -> None:
    """Write a part as a graph in which every size may be another than in the example."""
    if sum(value.numel() * value.element_size() for value in part.state_dict().values()) > _MOST_BYTES:
        raise ValueError(
            f"export_onnx: {name} has more than {_MOST_BYTES:,} bytes of weights, the most of an ONNX file"
        )
    sizes = {key: dict.fromkeys(range(value.dim()), Dim.AUTO) for key, value in example.items()}
    try:
        with _quietly(), torch.no_grad():
            outputs = [f"{OUTPUT}{key}" for key in part.eval()(example)]
            program: Any = torch.onnx.export(
                part,
                (),
                kwargs={"given": example},
                dynamic_shapes={"given": sizes},
                input_names=list(example),
                output_names=outputs,
                opset_version=OPSET,
                custom_translation_table=translations(),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
            program.save(str(path))
    # torch says in many ways that it cannot write something.
    except Exception as error:
        first: BaseException = error
        while first.__cause__ is not None:
            first = first.__cause__
        reason = (str(first).strip().splitlines() or [""])[0]
        raise ValueError(
            f"export_onnx: torch {torch.__version__} cannot write the {name} part of this model as a graph "
            f"({type(first).__name__}: {reason})"
        ) from error


def quantize(path: Path) -> None:
    """Make the weights of a graph's matrix products int8, in place.

    Args:
        path: The file.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_suffix(".whole")
    os.replace(path, whole)
    try:
        with _quietly():
            quantize_dynamic(
                whole,
                path,
                op_types_to_quantize=["MatMul"],
                per_channel=True,
                weight_type=QuantType.QInt8,
                extra_options={"MatMulConstBOnly": True},
            )
    finally:
        whole.unlink()


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep to themselves what torch and onnxruntime say of their own steps."""
    noisy = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    before = [logger.level for logger in noisy]
    root_filter = _Nothing()
    logging.getLogger().addFilter(root_filter)
    for logger in noisy:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(noisy, before, strict=True):
            logger.setLevel(level)
        logging.getLogger().removeFilter(root_filter)


class _Nothing(logging.Filter):
    """Lets nothing through below an error."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR


def _versions() -> dict[str, str]:
    import onnx
    import onnxruntime
    import onnxscript

    packages = {"onnx": onnx, "onnxruntime": onnxruntime, "onnxscript": onnxscript, "torch": torch}
    found = {name: str(module.__version__) for name, module in packages.items()}
    return {"hf-corefel": __version__, **found, "transformers": transformers.__version__}
