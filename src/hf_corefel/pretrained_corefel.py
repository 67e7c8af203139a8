"""What `CorefELModel` has of transformers: initialising, loading and saving of weights, and what is known of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from .configuration_corefel import CorefELConfig
from .foreign_code import loading_from
from .layers import EntityScorer, PairScorer
from .layers.matches import LateInput
from .repositories import FINGERPRINT_FILE, HubOptions, Origin, checked_name, weights_version
from .silence import DefaultCheckpoint, without_loading_bar
from .weights import (
    WeightsWarning,
    drawn_weights,
    expecting,
    find_weights,
    not_finite,
    saved_shapes,
    some_of,
    still_as_drawn,
)

__all__ = ["CorefELPreTrainedModel"]


class CorefELPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation of weights."""

    config_class = CorefELConfig
    config: CorefELConfig
    base_model_prefix = "corefel"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    # The loss is a mean over documents: Trainer must not divide it by the number of label tokens.
    accepts_loss_kwargs = False

    origin: Origin | None = None
    """How it was loaded; None when it was made here. What belongs to it is loaded in the same way."""

    _drawn: Mapping[str, Tensor] = {}

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
            pretrained_model_name_or_path: Folder, or Hub id.
            *args: As there.
            **kwargs: As there. ``trust_remote_code`` lets an encoder be made of code that the folder names; False by
                default, and nobody is asked.

        Raises:
            OSError: When a file is missing, or the weights are there as pickles only.
            ValueError: When a file is damaged, names code, or does not fit the others; the message names it.
        """
        trust = kwargs.pop("trust_remote_code", None) is True
        options, given = HubOptions.pick(kwargs), pretrained_model_name_or_path
        if any(kwargs.get(source) for source in ("from_tf", "from_flax", "gguf_file")):
            raise ValueError("from_pretrained: models are read from safetensors only; leave out from_tf and the like")
        if kwargs.pop("use_safetensors", None) is False:
            raise ValueError(
                "use_safetensors: pickles can run code when they are read, so no CorefELModel is read of one"
            )
        # "auto", what the weights were stored in, is what `transformers.pipeline` says where nobody chose.
        asked = [kwargs[name] for name in ("dtype", "torch_dtype") if kwargs.get(name) not in (None, "auto")]
        if "torch_dtype" not in kwargs:
            kwargs.setdefault("dtype", torch.float32)
        with_info, mismatched_too = (
            kwargs.pop("output_loading_info", False),
            kwargs.pop("ignore_mismatched_sizes", False),
        )
        name, shapes = "the model", None
        if given is not None:
            name = checked_name(given)
            shapes = saved_shapes(find_weights(name, options, variant=kwargs.get("variant")))
        size = None if shapes is None else sum(map(math.prod, shapes.values()))
        default = isinstance(given, DefaultCheckpoint)
        try:
            with (
                without_loading_bar() if default else nullcontext(),
                loading_from(name, options, trust_remote_code=trust),
                expecting(name, size),
            ):
                model, info = super().from_pretrained(
                    given,
                    *args,
                    use_safetensors=True,
                    ignore_mismatched_sizes=True,
                    output_loading_info=True,
                    **kwargs,
                )
        except (torch.OutOfMemoryError, OSError):
            raise
        except ValueError as error:
            if name in str(error):
                raise
            raise ValueError(f"{name}: {error}") from error
        # What transformers and torch make of files that do not fit each other is of many kinds.
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
        if info["mismatched_keys"] and not mismatched_too:
            key = _names(info["mismatched_keys"])[0]
            there, here = (shapes or {}).get(key, "another"), tuple(model.get_parameter(key).shape)
            raise ValueError(
                f"{name}: the weight {key} is of size {there}, and config.json asks for {here}; copy or save the model "
                "again, or say ignore_mismatched_sizes=True to train it anew"
            )
        model.origin = Origin(options, weights_version(model), trust, chose_dtype=bool(asked), default=default)
        model._note_weights(name, info)
        loaded: Any = (model, info) if with_info else model
        return loaded

    def _note_weights(self, name: str, info: Mapping[str, Any]) -> None:
        """Remembers which weights a folder lacked, and warns of those that it should not lack, have, or hold."""
        missing = sorted({*info["missing_keys"], *_names(info["mismatched_keys"])})
        self._drawn = drawn_weights(self, missing)
        broken, beyond = not_finite(self), sorted(info["unexpected_keys"])
        for names, text in (
            (missing, "are missing from it and were drawn at random; train them before you annotate"),
            (beyond, "are in it that the model has no place for; they were left out"),
            (broken, "hold NaN or infinite values"),
        ):
            if names:
                text = f"{name}: {len(names)} weights {text}: {some_of(names)}"
                warnings.warn(text, WeightsWarning, stacklevel=3)

    def save_pretrained(self, save_directory: str | Path, *args: Any, **kwargs: Any) -> None:
        """As `PreTrainedModel.save_pretrained`; a fingerprint in the folder goes, because it was of other weights."""
        super().save_pretrained(save_directory, *args, **kwargs)
        (Path(save_directory) / FINGERPRINT_FILE).unlink(missing_ok=True)

    def untrained_weights(self) -> list[str]:
        """Names of the parameters that no saved weights were there for, and no training has changed since.

        They are those that a folder lacked when the model was loaded, and those that `set_head` added. A model that was
        made here as a whole has none.
        """
        return still_as_drawn(self, self._drawn)

    def check_weights(self) -> None:
        """Raises `ValueError` unless all weights are trained, as far as is known, and finite: before annotating."""
        where = self.name_or_path or "the model"
        untrained = self.untrained_weights()
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


def _names(mismatched: Iterable[Any]) -> list[str]:
    """Names of weights of another size: transformers 5 gives their sizes beside them, version 4 the names alone."""
    return sorted(entry if isinstance(entry, str) else entry[0] for entry in mismatched)
