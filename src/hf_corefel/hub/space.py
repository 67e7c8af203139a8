"""A Space of a model: a page on the Hub where visitors annotate texts with it."""

from __future__ import annotations

import json
import tempfile
from importlib.resources import files
from pathlib import Path

from huggingface_hub import SpaceCardData
from huggingface_hub.utils import validate_repo_id

from ..loading.repositories import checked_name, upload_folder
from ..utils.characters import printable
from ..utils.files import whole_file
from ..version import __version__
from .card_examples import example_texts
from .card_facts import BUNDLED, CardFacts
from .card_text import plain_text

__all__ = ["GRADIO_VERSION", "publish_space", "write_space"]

# What the page was tested with; the Hub installs just this one.
GRADIO_VERSION = "6.31.0"
_PYTHON_VERSION = "3.11"
_README = """\
---
{metadata}
---

# {title}

Type a text: its mentions are shown in the colours of their clusters, each cluster with its entity or NIL.
It is annotated on the machine that runs this page, which keeps no file of it.
The model: {model}.

- `settings.json` names the model (null: the one that comes with hf-corefel), its revision, the title and example texts.
- `app.py` limits the length of texts and the visitors who wait.
- A private model is read with a token in the Space's secret `HF_TOKEN`.

To run the page on your own machine: `pip install "hf-corefel[space]"`, then `python app.py`.
"""


def write_space(
    folder: str | Path,
    model: str | Path | None = None,
    *,
    revision: str | None = None,
    facts: CardFacts | None = None,
) -> Path:
    """Write the files of a Gradio Space that annotates texts with a model; files of these names are replaced.

    Args:
        folder: Where to write; made when it does not exist.
        model: The model's Hub id, or its folder for a page that runs on this machine; the bundled checkpoint when None.
        revision: The model's branch, tag or commit; ``main`` when None.
        facts: Title, licence, language and example texts; without them the title is the model's name.

    Returns:
        The folder; ``python app.py`` in it starts the page if gradio is installed. Examples that are longer than a text
        may be there are left out.

    Raises:
        OSError: When a file cannot be written.
        ValueError: When the model's name is empty.
    """
    name = None if model is None else checked_name(model)
    # Whoever starts the page is somewhere else by then.
    return _write(folder, str(Path(name).absolute()) if name and Path(name).is_dir() else name, revision, facts)


def _write(folder: str | Path, name: str | None, revision: str | None, facts: CardFacts | None) -> Path:
    folder = Path(folder)
    if facts is None:
        facts = BUNDLED if name is None else CardFacts(title=Path(name).name)
    settings = {"model": name, "revision": revision, "title": printable(facts.title), "examples": example_texts(facts)}
    contents = {
        "app.py": (files(__package__) / "space_template" / "app.py").read_text(encoding="utf-8"),
        "settings.json": json.dumps(settings, ensure_ascii=False, indent=2) + "\n",
        "requirements.txt": f"hf-corefel>={__version__}\n",
        "README.md": _readme(name, facts),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        with whole_file(folder / file) as partial:
            partial.write_text(content, encoding="utf-8")
    return folder


def publish_space(
    repo_id: str,
    model: str | None = None,
    *,
    revision: str | None = None,
    facts: CardFacts | None = None,
    private: bool | None = None,
    token: str | bool | None = None,
) -> str:
    """Upload what `write_space` writes to a Space, in one commit; files of an earlier one are replaced.

    Args:
        repo_id: ``organisation/name`` of the Space; made when it does not exist.
        model: The model's Hub id; the bundled checkpoint when None.
        revision: The model's branch, tag or commit; ``main`` when None.
        facts: See `write_space`.
        private: Whether a new Space is private; None leaves it to the organisation. To read a private model it needs
            a token in its secret ``HF_TOKEN``.
        token: The user's token; the stored one when None.

    Returns:
        The commit's URL.

    Raises:
        OSError: When the Hub refuses.
        ValueError: When a name is none of a repository, or the Space must be private and is public.
    """
    for name in filter(None, (repo_id, model)):
        validate_repo_id(name)
    with tempfile.TemporaryDirectory() as temporary:
        commit = upload_folder(
            _write(temporary, model, revision, facts),
            repo_id,
            repo_type="space",
            private=private,
            token=token,
            commit_message="Write the page of the model",
        )
    return str(commit.commit_url)


def _readme(model: str | None, facts: CardFacts) -> str:
    on_hub = model is not None and not Path(model).is_absolute()
    data = SpaceCardData(
        title=printable(facts.title),
        emoji="🔗",
        colorFrom="red",
        colorTo="yellow",
        sdk="gradio",
        sdk_version=GRADIO_VERSION,
        python_version=_PYTHON_VERSION,
        app_file="app.py",
        license=None if facts.license is None else printable(facts.license),
        models=[model] if on_hub else None,
        tags=["coref-el", "coreference-resolution", "entity-linking"],
    )
    shown = "the checkpoint that comes with `hf-corefel`" if model is None else plain_text(model)
    return _README.format(metadata=data.to_yaml(), title=plain_text(facts.title), model=shown)
