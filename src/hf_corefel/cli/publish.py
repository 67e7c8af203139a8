"""``hf-corefel publish``: a saved model, or the bundled checkpoint, on the Hub."""

from __future__ import annotations

from typing import Annotated

import typer

from .messages import fail, say
from .options import TokenOption, TrustOption

__all__ = ["publish"]


def publish(
    repo_id: Annotated[str, typer.Argument(metavar="ORG/NAME", help="The repository; made when it does not exist.")],
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="FOLDER", help="A saved model; the bundled checkpoint when left out."),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    revision: Annotated[str | None, typer.Option(metavar="BRANCH", help="The branch; main when left out.")] = None,
    space: Annotated[
        bool,
        typer.Option("--space", help="Also make or replace a Space of the same name, where visitors annotate texts."),
    ] = False,
    token: TokenOption = None,
    trust_remote_code: TrustOption = False,
) -> None:
    """Put a model on the Hugging Face Hub, with its processor, knowledge base and model card, in one commit."""
    from .. import bundled_checkpoint
    from ..hub import BUNDLED, publish_space
    from ..hub import publish as publish_folder
    from ..hub.transport import hub_errors

    facts = BUNDLED if model is None else None
    try:
        url = publish_folder(
            bundled_checkpoint() if model is None else model,
            repo_id,
            private=private or None,
            revision=revision,
            token=token,
            facts=facts,
            trust_remote_code=trust_remote_code,
        )
    except hub_errors() as error:
        name = "the bundled checkpoint" if model is None else model or repr(model)
        fail(f"cannot publish {name} as {repo_id}: {error}")
    say(url)
    if space:
        try:
            say(publish_space(repo_id, repo_id, revision=revision, facts=facts, private=private or None, token=token))
        except hub_errors() as error:
            fail(f"the model is published, but not its Space {repo_id}: {error}")
