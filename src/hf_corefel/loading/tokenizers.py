"""Tokenizers of saved models: loaded without their code, and refused by name where they are damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer
from transformers.utils import cached_file

from ..utils.json_files import read_json_object
from .foreign_code import check_tokenizer_code, loading_from
from .repositories import HubOptions

__all__ = ["load_tokenizer"]

_CONFIG = "tokenizer_config.json"
# Objects that are read for a tokenizer beside it. Those of a Hub repository are read by transformers alone.
_OBJECTS = ("config.json", "tokenizer.json", "special_tokens_map.json", "added_tokens.json", "vocab.json")


def load_tokenizer(name: str, options: HubOptions | None = None, *, trust_remote_code: bool = False) -> Any:
    """Load the tokenizer of a saved model.

    Args:
        name: Folder or Hub id.
        options: How to find the repository.
        trust_remote_code: Run the code that its files name. It is refused by default, and nobody is asked.

    Raises:
        OSError: When there is no tokenizer.
        ValueError: When a file is damaged or names code; the message names it.
    """
    options = options or HubOptions()
    with loading_from(name, options, trust_remote_code=trust_remote_code):
        config = cached_file(
            name,
            _CONFIG,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
            **options.to_kwargs(),
        )
        if config is not None:
            check_tokenizer_code(read_json_object(config), config)
        folder = Path(name) / (options.subfolder or "")
        for path in (folder / file for file in _OBJECTS):
            if path.is_file():
                read_json_object(path)
        try:
            return AutoTokenizer.from_pretrained(name, trust_remote_code=trust_remote_code, **options.to_kwargs())
        except (KeyboardInterrupt, SystemExit, OSError, MemoryError):
            raise
        # tokenizers raises bare exceptions and, where Rust panics, one that is no Exception; transformers many kinds.
        except BaseException as error:
            raise ValueError(
                f"{name}: the tokenizer cannot be loaded from tokenizer.json and {_CONFIG} "
                f"({type(error).__name__}: {error}); copy or save it again"
            ) from error
