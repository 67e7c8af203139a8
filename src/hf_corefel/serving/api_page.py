"""What the API takes and gives, as a page that asks no other server for anything: its description, written out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from .page import framed

__all__ = ["api_page"]


def api_page(described: Mapping[str, Any]) -> str:
    """Return the page of an API.

    Args:
        described: Its description (OpenAPI), as ``/openapi.json`` has it for programs.
    """
    return framed(f"{described['info']['title']}: the API", "".join(_parts(described)))


def _parts(described: Mapping[str, Any]) -> Iterator[str]:
    info = described["info"]
    yield (
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>\n<p>{escape(info.get('description', ''))}</p>\n"
        '<p class="soft"><a href="openapi.json">openapi.json</a> describes the same for programs, and '
        '<a href="./">a page</a> annotates a text that you paste into it.</p>\n'
    )
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>\n"
            summary, description = escape(operation["summary"]), escape(operation.get("description", ""))
            yield f"<p><strong>{summary}.</strong> {description}</p>\n"
            yield from _parameters(operation.get("parameters", []))
            for name, value in _examples(operation.get("requestBody", {})):
                yield f"<h3>Example: {escape(name)}</h3>\n{_pre(_curl(path, value))}"
            yield "<h3>Answers</h3>\n"
            for status, answer in operation["responses"].items():
                yield f"<p><strong>{escape(str(status))}</strong> {escape(answer['description'])}</p>\n"
                for _, value in _examples(answer):
                    yield _pre(json.dumps(value, indent=2, ensure_ascii=False))


def _parameters(parameters: list[Mapping[str, Any]]) -> Iterator[str]:
    if parameters:
        yield "<h3>Parameters, behind ? in the address</h3>\n<table>\n"
        for parameter in parameters:
            name, kind = escape(parameter["name"]), escape(_kind(parameter["schema"]))
            yield f"<tr><th><code>{name}</code></th><td>{kind}</td><td>{escape(parameter['description'])}</td></tr>\n"
        yield "</table>\n"


def _kind(schema: Mapping[str, Any]) -> str:
    kinds = (option.get("type", "") for option in schema.get("anyOf", [schema]))
    return " or ".join(kind for kind in kinds if kind != "null")


def _examples(of: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for content in of.get("content", {}).values():
        for name, example in content.get("examples", {}).items():
            yield name, example["value"]


def _curl(path: str, value: Any) -> str:
    body = json.dumps(value, ensure_ascii=False).replace("'", "'\\''")
    return f"curl -H 'Content-Type: application/json' -d '{body}' \"$SERVICE{path}\""


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>\n"
