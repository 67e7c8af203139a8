"""One call that puts a saved model on the Hub, with card, fingerprint and all that loading it takes."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from huggingface_hub.utils import validate_repo_id

from ..kb import KNOWLEDGE_BASE_FOLDER
from ..loading.adapters import ADAPTER_FILES, BASE_FOLDER
from ..loading.repositories import checked_name, upload_folder
from ..modeling_corefel import CorefELModel
from ..processing_corefel import CorefELProcessor
from ..utils.files import whole_file
from ..utils.json_files import read_json_object
from .card import CardFacts, model_card_of_folder, point_card_to
from .fingerprint import check_fingerprint, save_fingerprint

__all__ = ["STUB_FILE", "publish", "save_stub"]

STUB_FILE = "hf_corefel_stub.py"
_CARD_FILE = "README.md"
_SUFFIXES = {".json", ".marisa", ".md", ".model", ".safetensors", ".txt"}
_NAMES = {"LICENSE", "NOTICE"}
_LEFT_OUT = {"trainer_state.json", "all_results.json"}
# What an earlier commit may have of a model or an adapter, with which the new one would load as another or not at all.
_REPLACED = (
    "*.safetensors",
    "*.safetensors.index.json",
    f"{KNOWLEDGE_BASE_FOLDER}/*",
    f"{BASE_FOLDER}*/*",
    *ADAPTER_FILES,
    *(f"*/{file}" for file in ADAPTER_FILES),
)
# Who lacks the package gets this module from transformers, whose check of imports then names what to install.
_STUB = '''\
"""Names the package that this model needs: pip install hf-corefel."""

import hf_corefel

CorefELConfig = hf_corefel.CorefELConfig
CorefELModel = hf_corefel.CorefELModel
'''
_AUTO_MAP = {
    "AutoConfig": f"{Path(STUB_FILE).stem}.CorefELConfig",
    "AutoModel": f"{Path(STUB_FILE).stem}.CorefELModel",
}


def publish(
    folder: str | Path,
    repo_id: str,
    *,
    private: bool | None = None,
    revision: str | None = None,
    token: str | bool | None = None,
    commit_message: str = "Publish model, processor and knowledge base",
    facts: CardFacts | None = None,
    trust_remote_code: bool = False,
) -> str:
    """Uploads a saved model in one commit: weights, tokenizer, processor, knowledge base, card and fingerprint.

    The model is loaded first, so that what cannot be loaded is not published. A card in the folder is kept; one that
    this package wrote gets the repository's name. Checkpoints and states of training stay behind, and files of the
    model that an earlier commit had and this one has not are deleted. An adapter is merged into its base, and the
    whole model is published; `PeftModel.push_to_hub` publishes an adapter alone.

    Args:
        folder: Folder of a model and its processor, or of an adapter of PEFT.
        repo_id: ``organisation/name``; made when it does not exist.
        private: Whether a new repository is private; None leaves it to the organisation.
        revision: The branch, made when it does not exist; ``main`` when None.
        token: The user's token; the stored one when None.
        commit_message: Summary of the commit.
        facts: What the card should say beyond the folder's files.
        trust_remote_code: Whether code that the folder's files name is run, and published with it; the model cannot be
            loaded without, and is not published, when False.

    Returns:
        The commit's URL.

    Raises:
        OSError: When a file is missing, or the Hub refuses.
        ValueError: When the folder cannot be loaded or lacks weights, when the repository's name is none, or when it
            must be private and is public.
    """
    folder = Path(checked_name(folder))
    validate_repo_id(repo_id)
    if not any(folder.glob("*.safetensors")):
        raise FileNotFoundError(f"{folder}: no *.safetensors; save the model with save_pretrained")
    processor = CorefELProcessor.from_pretrained(folder, trust_remote_code=trust_remote_code)
    model = CorefELModel.from_pretrained(folder, trust_remote_code=trust_remote_code)
    model.check_weights()
    # Those who load it are told by the new one; whoever publishes it, by the one that was saved with it.
    check_fingerprint(model, processor, str(folder))
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        staged = Path(temporary)
        if (folder / "adapter_config.json").is_file():
            folder = _whole(folder, model, processor, Path(stack.enter_context(tempfile.TemporaryDirectory())))
        for path in _files(folder, with_code=trust_remote_code):
            target = staged / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(path, target)
        _rewrite(staged / _CARD_FILE, _card(folder, repo_id, facts))
        save_stub(staged)
        (staged / "fingerprint.json").unlink(missing_ok=True)
        save_fingerprint(model, processor, staged)
        commit = upload_folder(
            staged,
            repo_id,
            private=private,
            revision=revision,
            token=token,
            commit_message=commit_message,
            delete_patterns=list(_REPLACED),
        )
    return str(commit.commit_url)


def save_stub(folder: str | Path) -> None:
    """Has a saved model say which package it needs, to those who load it with ``trust_remote_code=True`` without it.

    The configuration then names the stub's classes, and no longer the place where the encoder lay on this machine.
    """
    folder = Path(folder)
    _rewrite(folder / "config.json", _config(folder))
    _rewrite(folder / STUB_FILE, _STUB)


def _whole(folder: Path, model: CorefELModel, processor: CorefELProcessor, target: Path) -> Path:
    """The folder of what an adapter and its base make together, with the records that lie with the adapter."""
    model.save_pretrained(target)
    processor.save_pretrained(target)
    for path in folder.iterdir():
        is_record = path.name in _NAMES or (path.suffix == ".json" and path.name not in ADAPTER_FILES)
        # The card that PEFT writes has but the headings.
        is_card = path.name == _CARD_FILE and "library_name: peft" not in path.read_text(encoding="utf-8")
        if path.is_file() and (is_record or is_card) and not (target / path.name).exists():
            shutil.copyfile(path, target / path.name)
    return target


def _files(folder: Path, *, with_code: bool = False) -> list[Path]:
    """What belongs to a model: neither checkpoints nor logs nor pickles, and code only where it is trusted."""
    suffixes = _SUFFIXES | ({".py"} if with_code else set())
    # One that is composed of several has a folder for each.
    found = [*folder.iterdir(), *(folder / KNOWLEDGE_BASE_FOLDER).rglob("*")]
    return [
        path
        for path in found
        if path.is_file()
        and not any(name.startswith(".") for name in path.relative_to(folder).parts)
        and (path.suffix in suffixes or path.name in _NAMES)
        and path.name not in _LEFT_OUT
    ]


def _config(folder: Path) -> str:
    """The configuration with the stub's classes, and without the place where the encoder lay on this machine."""
    config = read_json_object(folder / "config.json")
    for part in (config, config["encoder_config"]):
        if Path(part.get("_name_or_path") or "").is_absolute():
            part["_name_or_path"] = Path(part["_name_or_path"]).name
    return json.dumps({**config, "auto_map": _AUTO_MAP}, indent=2) + "\n"


def _card(folder: Path, repo_id: str, facts: CardFacts | None) -> str:
    path = folder / _CARD_FILE
    if path.is_file() and facts is None:
        return point_card_to(path.read_text(encoding="utf-8"), repo_id)
    return model_card_of_folder(folder, facts=facts, repo_id=repo_id)


def _link_or_copy(source: Path, target: Path) -> None:
    """Weights are large: no second copy of them where a link will do."""
    try:
        target.symlink_to(source.absolute())
    except OSError:
        shutil.copyfile(source, target)


def _rewrite(path: Path, text: str) -> None:
    """Writes a file of its own in place of a link."""
    if path.is_symlink():
        path.unlink()
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
