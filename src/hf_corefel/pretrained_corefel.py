"""What `CorefELModel` has of transformers: initialising, loading and saving of weights, and what is known of them."""

from __future__ import annotations

import copy
import inspect
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import extract_commit_hash

from .configuration_corefel import CorefELConfig
from .layers import EntityScorer, PairScorer
from .layers.int8 import use_int8
from .layers.matches import LateInput
from .loading.adapters import (
    Adapter,
    adapters_of,
    base_tensors,
    holds_adapters,
    merge_adapter,
    merged_copy,
    plain_module,
)
from .loading.foreign_code import loading_from, read_encoder_config, save_code
from .loading.quantizing import check_savable, leave_exact, means_int8
from .loading.repositories import HubOptions, Origin, checked_name
from .loading.saved_folder import replaced_model_files
from .loading.saved_names import noting_untrained, state_to_save, taken_note
from .loading.silence import DefaultCheckpoint
from .loading.weights import (
    WeightsWarning,
    check_config,
    drawn_weights,
    expecting,
    find_weights,
    not_finite,
    sample_weights,
    saved_shapes,
    some_of,
    still_as_drawn,
    unchanged_weights,
)
from .utils.compat import commit_of, no_loading_bar, note_commit

__all__ = ["CorefELPreTrainedModel"]


class CorefELPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation of weights.

    Example:
        >>> from hf_corefel import CorefELModel, CorefELPreTrainedModel
        >>> issubclass(CorefELModel, CorefELPreTrainedModel)
        True
    """

    config_class = CorefELConfig
    config: CorefELConfig
    base_model_prefix = "corefel"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    # The encoder alone attends; once it is made, the model has its answers, and it refuses what it cannot itself.
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    # The loss is a mean over documents: Trainer must not divide it by the number of label tokens.
    accepts_loss_kwargs = False

    only_device: str | None = None
    """The device that it cannot leave, if any."""
    origin: Origin | None = None
    """How it was loaded; None when it was made here. What belongs to it is loaded in the same way."""

    _drawn: Mapping[str, Tensor] = {}

    @property
    def _ddp_params_and_buffers_to_ignore(self) -> list[str]:
        """Names of the parameters that the active head does not read."""
        return []

    def _init_weights(self, module: nn.Module) -> None:
        # Only modules of ours come here: the encoder is a PreTrainedModel and initialises itself.
        # Written through torch.nn.init, because transformers 5 guards loaded weights there and nowhere else.
        if isinstance(module, LateInput):
            nn.init.zeros_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)
        elif callable(reset := getattr(module, "reset_parameters", None)):
            reset()  # a module that a head brings for a score of its own
        if isinstance(module, PairScorer | EntityScorer):
            for name, parameter in module.named_parameters(recurse=False):
                if name in ("root", "nil"):
                    nn.init.normal_(parameter, std=0.1)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Self:
        """As `PreTrainedModel.from_pretrained`, from safetensors only and in single precision unless told otherwise.

        Weights may be stored in half precision; what they are computed in should not depend on that, nor on the
        release of transformers. A `WeightsWarning` says which weights the folder lacks and had to be drawn at random,
        or has beyond the model's, or are not finite: training may go on from there, `CorefELPipeline` refuses such a
        model.

        Args:
            pretrained_model_name_or_path: Folder, or Hub id; of a model, or of an adapter of PEFT, which is merged into
                the model that it names.
            *args: As there.
            **kwargs: As there. ``dtype="int8"`` loads in single precision and makes the encoder's linear layers
                `hf_corefel.layers.int8.Int8Linear`, for a CPU. ``trust_remote_code`` lets an encoder be made of code
                that the folder names; False by default, and nobody is asked. Of a model that is quantised here
                (``quantization_config``), the parts of `hf_corefel.loading.quantizing.EXACT_PARTS` are left as they
                are.

        Raises:
            OSError: When a file is missing, or the weights are there as pickles only.
            ValueError: When a file is damaged, names code, or does not fit the others; the message names it.
        """
        trust = kwargs.pop("trust_remote_code", None) is True
        options, given = HubOptions.pick(kwargs), pretrained_model_name_or_path
        _refuse_other_files(kwargs)
        # "auto", what the weights were stored in, is what `transformers.pipeline` says where nobody chose.
        asked = [kwargs[name] for name in ("dtype", "torch_dtype") if kwargs.get(name) not in (None, "auto")]
        if "torch_dtype" not in kwargs:
            kwargs.setdefault("dtype", torch.float32)
        with_info = kwargs.pop("output_loading_info", False)
        mismatched_too = kwargs.pop("ignore_mismatched_sizes", False)
        to_int8 = any(map(means_int8, asked))
        if to_int8:
            kwargs.update({name: torch.float32 for name in ("dtype", "torch_dtype") if name in kwargs})
        quantized = kwargs.get("quantization_config") is not None
        if quantized:
            if to_int8:
                raise ValueError("dtype='int8' and quantization_config both say how to quantise; leave one out")
            kwargs["quantization_config"] = leave_exact(kwargs["quantization_config"])
        given, options = _asked(given, options, kwargs.pop("adapter_kwargs", None) or {}, kwargs.get("config"))
        name, shapes, found = "the model", None, options
        adapters: list[Adapter] = []
        if given is not None:
            place = checked_name(given)
            name, found, adapters = adapters_of(place, options)
            if adapters:
                rest = {key: value for key, value in kwargs.items() if key not in HubOptions.names()}
                kwargs = {**rest, **found.to_kwargs()}
            shapes = saved_shapes(find_weights(name, found, variant=kwargs.get("variant")))
            check_config(name, found, kwargs.get("config"))
            given = name if adapters else given
        size = None if shapes is None else sum(map(math.prod, shapes.values()))
        default = isinstance(given, DefaultCheckpoint)
        with (
            _readable_errors(name),
            no_loading_bar() if default else nullcontext(),
            loading_from(name, found, trust_remote_code=trust),
            expecting(name, size),
        ):
            if isinstance(kwargs.get("config"), CorefELConfig):
                kwargs["config"] = copy.deepcopy(kwargs["config"])
                kwargs["config"].encoder_config = read_encoder_config(kwargs["config"].encoder_config)
            model, info = super().from_pretrained(
                given,
                *args,
                use_safetensors=True,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
                **kwargs,
            )
        if info["mismatched_keys"] and not mismatched_too:
            key = _names(info["mismatched_keys"])[0]
            there, here = (shapes or {}).get(key, "another"), tuple(model.get_parameter(key).shape)
            raise ValueError(
                f"{name}: the weight {key} is of size {there}, and config.json asks for {here}; copy or save the model "
                "again, or say ignore_mismatched_sizes=True to train it anew"
            )
        missing = sorted({*info["missing_keys"], *_names(info["mismatched_keys"])})
        noted = set(taken_note(model.config, name)).difference(missing)
        model._drawn = drawn_weights(model, [*missing, *noted])
        for adapter in adapters:
            merge_adapter(model, adapter)
        if adapters:
            # What belongs to the model lies with the adapter.
            name = model.name_or_path = model.config.name_or_path = place
            note_commit(model.config, extract_commit_hash(str(adapters[-1].config), None))
        if to_int8:
            use_int8(model.encoder)
        sample = sample_weights(model.named_parameters())
        model.origin = Origin(options, sample, trust, bool(asked), default, quantized or to_int8)
        drawn = model.untrained_weights()
        missing = [weight for weight in drawn if weight not in noted] if adapters else missing
        noted -= {*model._ddp_params_and_buffers_to_ignore}
        model._warn_of_weights(name, missing, sorted(noted.intersection(drawn)), info["unexpected_keys"])
        loaded: Any = (model, info) if with_info else model
        return loaded

    def _warn_of_weights(self, name: str, missing: list[str], untrained: list[str], unexpected: Iterable[str]) -> None:
        """Warns of weights that a folder should not lack, have, or hold."""
        broken, beyond = not_finite(self), sorted(unexpected)
        for names, text in (
            (missing, "are missing from it and were drawn at random; train them before you annotate"),
            (untrained, "are in it as they were drawn at random; train them before you annotate"),
            (beyond, "are in it that the model has no place for; they were left out"),
            (broken, "hold NaN or infinite values"),
        ):
            if names:
                text = f"{name}: {len(names)} weights {text}: {some_of(names)}"
                warnings.warn(text, WeightsWarning, stacklevel=3)

    def save_pretrained(self, save_directory: str | Path, *args: Any, **kwargs: Any) -> None:
        """As `PreTrainedModel.save_pretrained`, a whole model that every way of loading reads.

        Adapters within the model are merged into what is saved, and stay as they are in the model itself; what PEFT put
        around a model saves the adapter alone. Code that the encoder was made of is copied too. An earlier model in the
        folder is replaced once this one is whole; its fingerprint, an adapter and exported graphs go with its weights.
        ``config.json`` names the weights that were drawn at random and never trained (`untrained_weights`), so that
        they are known for untrained when the model is loaded.

        Args:
            save_directory: The folder.
            *args: As there.
            **kwargs: As there.

        Raises:
            FileBusyError: When another process has been saving there for minutes.
            ValueError: When pickles are asked for, or the model has weights that it would not be loaded with; the
                message names them.
        """
        check_savable(self)
        given = inspect.signature(PreTrainedModel.save_pretrained).bind(self, save_directory, *args, **kwargs)
        if given.arguments.get("safe_serialization", kwargs.get("safe_serialization")) is False:
            raise ValueError(
                "safe_serialization: pickles can run code when they are read, so no CorefELModel is read of one; leave "
                "it out, and safetensors are written"
            )
        saved, state = self, given.arguments.get("state_dict")
        if holds_adapters(self):
            saved, state = merged_copy(self, state), None
        state = state_to_save(saved, state)
        given.arguments.update(self=saved, state_dict=state)
        with ExitStack() as stack:
            if _writes_alone(saved, given.arguments):
                if given.arguments.get("push_to_hub"):
                    given.arguments.setdefault("kwargs", {}).setdefault("repo_id", Path(save_directory).name)
                files = replaced_model_files(save_directory, given.arguments.get("variant"))
                save_directory = given.arguments["save_directory"] = stack.enter_context(files)
            save_code(saved.plain_encoder, saved.config.encoder_config, save_directory)
            stack.enter_context(noting_untrained(saved, state, self._drawn))
            PreTrainedModel.save_pretrained(*given.args, **given.kwargs)

    def load_adapter(self, *args: Any, **kwargs: Any) -> Any:
        """As `PreTrainedModel.load_adapter`: puts an adapter of PEFT into the live model."""
        renamed = vars(self).get("_weight_conversions")
        try:
            return super().load_adapter(*args, **kwargs)
        finally:
            # transformers 5 keeps how it renamed the adapter's weights, and would save the model's by these names.
            self.__dict__.pop("_weight_conversions", None)
            if renamed is not None:
                self._weight_conversions = renamed

    @staticmethod
    def _refuse_arguments(unused: Mapping[str, Any]) -> None:
        """Raises `TypeError` for arguments of `forward` that mean something; ``None`` is what PEFT gives all models."""
        asked = [name for name, value in unused.items() if value is not None and name != "return_dict"]
        if asked:
            raise TypeError(
                f"forward: CorefELModel takes no argument {asked[0]!r}; CorefELProcessor gives all it takes"
            )

    def save_without_adapters(self, save_directory: str | Path) -> None:
        """As `save_pretrained`, with the weights that the model has beneath its adapters."""
        save_code(self.plain_encoder, self.config.encoder_config, save_directory)
        state = dict(base_tensors(self))
        with noting_untrained(self, state, self._drawn):
            PreTrainedModel.save_pretrained(self, save_directory, state_dict=state)

    def has_weights_as_loaded(self) -> bool:
        """Whether nobody has trained the weights since they were loaded; False of a model that was made here."""
        own = [(name, value) for name, value in base_tensors(self) if isinstance(value, nn.Parameter)]
        return self.origin is not None and len(unchanged_weights(own, self.origin.weights)) == len(self.origin.weights)

    @property
    def plain_encoder(self) -> nn.Module:
        """The encoder within what ``torch.compile`` and PEFT may have put around it."""
        windows: Any = plain_module(self.encoder)
        return plain_module(windows.model)

    def get_input_embeddings(self) -> nn.Module:
        encoder: Any = self.plain_encoder
        return encoder.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Module) -> None:
        encoder: Any = self.plain_encoder
        encoder.set_input_embeddings(value)

    def is_as_saved(self) -> bool:
        """Whether loading `name_or_path` again gives this model, adapters in it left aside."""
        if self.origin is None or not self.name_or_path or not self.has_weights_as_loaded():
            return False
        name, options = str(self.name_or_path), self.origin.options
        try:
            with loading_from(name, options, trust_remote_code=self.origin.trust_remote_code):
                saved = CorefELConfig.from_pretrained(name, **options.to_kwargs())
        except (OSError, ValueError):
            return False
        return saved.own_fields() == self.config.own_fields()

    def untrained_weights(self) -> list[str]:
        """Names of the parameters that no saved weights were there for, and no training has changed since.

        They are those that a folder lacked when the model was loaded, and those that `set_head` added. A model that was
        made here as a whole has none.
        """
        return still_as_drawn(self, self._drawn)

    def note_untrained(self, names: Iterable[str]) -> None:
        """Take the values that parameters have now for untrained: a checkpoint that was loaded may say so."""
        self._drawn = {**self._drawn, **drawn_weights(self, names)}

    def check_weights(self) -> None:
        """Raises `ValueError` unless all weights are finite and the active head's are trained: before annotating."""
        where = self.name_or_path or "the model"
        idle = self._ddp_params_and_buffers_to_ignore
        untrained = [name for name in self.untrained_weights() if name not in idle]
        if untrained:
            raise ValueError(
                f"{where}: {len(untrained)} weights are missing from it and were drawn at random "
                f"({some_of(untrained)}), so would be its annotations; copy or save the model again, or train it first"
            )
        broken = not_finite(self)
        if broken:
            raise ValueError(
                f"{where}: {len(broken)} weights hold NaN or infinite values ({some_of(broken)}); copy the model "
                "again, or take an earlier checkpoint"
            )


def _refuse_other_files(kwargs: dict[str, Any]) -> None:
    """Raise `ValueError` where a model is to be read of anything but safetensors."""
    if any(kwargs.get(source) for source in ("from_tf", "from_flax", "gguf_file")):
        raise ValueError("from_pretrained: models are read from safetensors only; leave out from_tf and the like")
    if kwargs.pop("use_safetensors", None) is False:
        raise ValueError("use_safetensors: pickles can run code when they are read, so no CorefELModel is read of one")


@contextmanager
def _readable_errors(name: str) -> Iterator[None]:
    """Give what transformers and torch raise of files that do not fit each other, of many kinds, the model's name."""
    try:
        yield
    except (torch.OutOfMemoryError, OSError):
        raise
    except ValueError as error:
        if name in str(error):
            raise
        raise ValueError(f"{name}: {error}") from error
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        ImportError,
        LookupError,
        RuntimeError,
        TypeError,
    ) as error:
        raise ValueError(f"{name}: the model cannot be loaded ({type(error).__name__}: {error})") from error


def _writes_alone(model: PreTrainedModel, arguments: Mapping[str, Any]) -> bool:
    """Whether what is saved comes of this process only: several write into one folder, none can replace it."""
    main = arguments.get("is_main_process", True)
    asks = getattr(model, "should_save_on_this_rank", None)  # of transformers 5
    return bool(main if asks is None else asks(main)) and not arguments.get("distributed_checkpoint")


def _asked(given: Any, options: HubOptions, adapter: Mapping[str, Any], config: Any) -> tuple[Any, HubOptions]:
    """What was asked for, and how to find it, where transformers has found an adapter and gives what is its base's."""
    if "_adapter_model_path" in adapter:
        return adapter["_adapter_model_path"], options.at(adapter.get("revision"))
    commit = commit_of(config)
    if commit is not None and options.revision == commit and config.name_or_path != str(given):
        return given, options.at(None)
    return given, options


def _names(mismatched: Iterable[Any]) -> list[str]:
    """Names of weights of another size: transformers 5 gives their sizes beside them, version 4 the names alone."""
    return sorted(entry if isinstance(entry, str) else entry[0] for entry in mismatched)
