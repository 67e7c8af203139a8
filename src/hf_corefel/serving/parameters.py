"""What a request may say about its results, in the query of its address."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..pipelines.parameters import split_parameters
from .requests import RefusedError

__all__ = ["Parameters", "validation_message"]


class Parameters(BaseModel):
    """Parameters of the pipeline that a request may give; what it does not say is as the service was started with."""

    model_config = ConfigDict(extra="forbid")

    evidence: bool | None = Field(None, description="What each mention hangs from.")
    top_k: int | None = Field(None, description="Alternatives of a cluster, at most, NIL among them.")
    resolved_text: bool | None = Field(None, description="Also the text with names in place of mentions.")
    min_probability: float | None = Field(
        None, description="Less probable links become NIL, and such mentions are dropped."
    )
    id: str | None = Field(None, description="What entities are called: name, or wikidata for their Wikidata ids.")
    types: str | None = Field(None, description="Only clusters of entities of these types, such as person,place.")
    mention_scope: str | None = Field(
        None, description="Which mentions are looked for, if the model has several scopes: named, all or entities."
    )

    def said(self) -> dict[str, Any]:
        """Return what was said, as the pipeline takes it.

        Raises:
            RefusedError: When a value is none that the pipeline takes (422); the message names it.
        """
        said = self.model_dump(exclude_none=True)
        if "types" in said:
            said["types"] = tuple(name.strip() for name in said["types"].split(",") if name.strip())
        try:
            split_parameters(said, "coref-el")
        except (TypeError, ValueError) as error:
            raise RefusedError(422, str(error)) from error
        return said


def validation_message(errors: list[Any]) -> str:
    """Return in a sentence what FastAPI found wrong with the query of an address."""
    said = []
    for error in errors:
        name = str(error["loc"][-1])
        if error["type"] == "extra_forbidden":
            said.append(f"{name}: no parameter; there are {', '.join(Parameters.model_fields)}")
        else:
            said.append(f"{name}: {error['msg'][:1].lower()}{error['msg'][1:]}; got {error.get('input')!r}")
    return "; ".join(said)
