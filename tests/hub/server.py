"""A Hub in memory, on loopback: what huggingface_hub needs to create, upload, list and download repositories.

Large files go through the LFS protocol's basic transfer, the rest through the commit's lines. A private repository is
shown only to the owner's token, as on the real one: to others it does not exist.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

__all__ = ["TOKEN", "HubServer", "Repository"]

TOKEN = "hf_loopback"
_LARGE = (".safetensors", ".bin", ".parquet", ".arrow", ".marisa")
_KINDS = ("models", "datasets", "spaces")


@dataclass(frozen=True)
class StoredFile:
    content: bytes
    large: bool

    @property
    def git_oid(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content).hexdigest()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.git_oid

    def describe(self, path: str) -> dict[str, Any]:
        entry = {"type": "file", "path": path, "size": len(self.content), "oid": self.git_oid}
        if self.large:
            entry["lfs"] = {"oid": self.sha256, "size": len(self.content), "pointerSize": 134}
        return entry


@dataclass
class Repository:
    """Commits as whole snapshots, and the branches that name some of them."""

    kind: str
    name: str
    private: bool = False
    snapshots: dict[str, dict[str, StoredFile]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.commit("main", {}, "initial commit")

    def commit(self, branch: str, files: dict[str, StoredFile], title: str) -> str:
        sha = hashlib.sha1(f"{self.kind}/{self.name}/{len(self.snapshots)}".encode()).hexdigest()
        self.snapshots[sha] = dict(files)
        self.branches[branch] = sha
        self.titles.append(title)
        return sha

    def resolve(self, revision: str) -> str | None:
        return self.branches.get(revision, revision if revision in self.snapshots else None)

    def files(self, revision: str = "main") -> dict[str, bytes]:
        """Content by path, for tests."""
        sha = self.resolve(revision)
        assert sha is not None, revision
        return {path: file.content for path, file in self.snapshots[sha].items()}


class HubError(Exception):
    """An answer that huggingface_hub turns into one of its errors."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class HubServer(ThreadingHTTPServer):
    """The repositories by kind and name, the uploaded blobs, and a log of (method, path) of every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.blobs: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def repository(self, name: str, kind: str = "models") -> Repository:
        return self.repositories[kind, name]

    def find(self, kind: str, name: str, token: str | None) -> Repository:
        found = self.repositories.get((kind, name))
        if found is None or (found.private and token != TOKEN):
            raise HubError(404 if token else 401, "RepoNotFound", "Repository not found")
        return found


def _snapshot(repository: Repository, revision: str) -> tuple[str, dict[str, StoredFile]]:
    sha = repository.resolve(revision)
    if sha is None:
        raise HubError(404, "RevisionNotFound", f"Invalid rev id: {revision}")
    return sha, repository.snapshots[sha]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HubServer

    def log_message(self, *unused: Any) -> None:
        """The server keeps a log of its own."""

    def _serve(self) -> None:
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        body = self._body()
        with self.server.lock:
            self.server.requests.append((self.command, unquote(url.path)))
            try:
                self._route(parts, parse_qs(url.query), body)
            except HubError as error:
                headers = {"X-Error-Code": error.code, "X-Error-Message": error.message}
                self._send({"error": error.message}, error.status, headers)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        content = b""
        while size := int(self.rfile.readline(), 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return content

    def _send(self, content: Any = b"", status: int = 200, headers: dict[str, str] | None = None) -> None:
        headers = {**(headers or {})}
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
            headers["Content-Type"] = "application/json"
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    @property
    def _token(self) -> str | None:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None

    def _must_be_owner(self) -> None:
        if self._token != TOKEN:
            raise HubError(401, "Unauthorized", "Invalid username or password.")

    def _route(self, parts: list[str], query: dict[str, list[str]], body: bytes) -> None:
        match parts:
            case ["api", "whoami-v2"]:
                self._must_be_owner()
                self._send({"type": "user", "name": "tester", "orgs": [], "auth": {"type": "access_token"}})
            case ["api", "repos", "create"]:
                self._must_be_owner()
                self._create(json.loads(body))
            case ["api", "validate-yaml"]:
                self._send({"errors": [], "warnings": []})
            case ["api", kind, owner, name, *rest] if kind in _KINDS:
                repository = self.server.find(kind, f"{owner}/{name}", self._token)
                self._api(repository, rest or ["revision", "main"], query, body)
            case [*start, "info", "lfs", "objects", action]:
                self._large_files(start, action, body)
            case ["blobs", oid]:
                if hashlib.sha256(body).hexdigest() != oid:
                    raise HubError(422, "BadOid", "the content is not what its name says")
                self.server.blobs[oid] = body
                self._send()
            case _ if "resolve" in parts[2:4]:
                place = parts.index("resolve", 2)
                kind = parts[0] if place == 3 else "models"
                repository = self.server.find(kind, "/".join(parts[place - 2 : place]), self._token)
                self._download(repository, parts[place + 1], "/".join(parts[place + 2 :]))
            case _:
                raise HubError(404, "EntryNotFound", f"no such path: {self.path}")

    def _create(self, wanted: dict[str, Any]) -> None:
        kind, name = f"{wanted.get('type') or 'model'}s", f"{wanted.get('organization') or 'tester'}/{wanted['name']}"
        known = (kind, name) in self.server.repositories
        if not known:
            private = bool(wanted.get("private")) or wanted.get("visibility") == "private"
            self.server.repositories[kind, name] = Repository(kind, name, private)
        prefix = "" if kind == "models" else f"{kind}/"
        self._send({"url": f"{self.server.url}/{prefix}{name}", "name": name, "id": name}, 409 if known else 200)

    def _large_files(self, start: Iterable[str], action: str, body: bytes) -> None:
        self._must_be_owner()
        objects = []
        for item in json.loads(body)["objects"] if action == "batch" else ():
            if item["oid"] not in self.server.blobs:
                upload = {"href": f"{self.server.url}/blobs/{item['oid']}", "header": {}}
                verify = {"href": f"{self.server.url}/{'/'.join(start)}/info/lfs/objects/verify", "header": {}}
                item["actions"] = {"upload": upload, "verify": verify}
            objects.append({**item, "authenticated": True})
        self._send({"transfer": "basic", "objects": objects})

    def _api(self, repository: Repository, rest: list[str], query: dict[str, list[str]], body: bytes) -> None:
        match rest:
            case ["preupload", revision]:
                self._must_be_owner()
                _snapshot(repository, revision)
                modes = [
                    {"path": path, "uploadMode": "lfs" if path.endswith(_LARGE) else "regular", "shouldIgnore": False}
                    for path in (item["path"] for item in json.loads(body)["files"])
                ]
                self._send({"files": modes})
            case ["commit", branch]:
                self._must_be_owner()
                self._commit(repository, branch, [json.loads(line) for line in body.splitlines() if line.strip()])
            case ["branch", branch]:
                self._must_be_owner()
                if branch in repository.branches:
                    raise HubError(409, "BranchExists", "the branch exists")
                start = (json.loads(body or b"{}") or {}).get("startingPoint") or "main"
                repository.branches[branch] = _snapshot(repository, start)[0]
                self._send({})
            case ["refs"]:
                branches = [
                    {"name": name, "ref": f"refs/heads/{name}", "targetCommit": sha}
                    for name, sha in repository.branches.items()
                ]
                self._send({"branches": branches, "converts": [], "tags": []})
            case ["revision", revision]:
                sha, files = _snapshot(repository, revision)
                self._send(
                    {
                        "id": repository.name,
                        "sha": sha,
                        "private": repository.private,
                        "tags": [],
                        "downloads": 0,
                        "likes": 0,
                        "siblings": [{"rfilename": path} for path in files],
                    }
                )
            case ["tree", revision, *folder]:
                self._tree(_snapshot(repository, revision)[1], "/".join(folder), "true" in str(query).lower())
            case ["paths-info", revision]:
                is_json = self.headers.get("Content-Type", "").startswith("application/json")
                paths = (json.loads(body) if is_json else parse_qs(body.decode()))["paths"]
                _, files = _snapshot(repository, revision)
                self._send([files[path].describe(path) for path in paths if path in files])
            case _:
                raise HubError(404, "EntryNotFound", f"no such path: {self.path}")

    def _commit(self, repository: Repository, branch: str, lines: list[dict[str, Any]]) -> None:
        files, title = dict(_snapshot(repository, branch)[1]), ""
        for value, key in ((line["value"], line["key"]) for line in lines):
            if key == "header":
                title = value["summary"]
            elif key == "file":
                files[value["path"]] = StoredFile(base64.b64decode(value["content"]), large=False)
            elif key == "lfsFile":
                files[value["path"]] = StoredFile(self.server.blobs[value["oid"]], large=True)
            elif key == "deletedFile":
                del files[value["path"]]
            else:
                raise HubError(400, "BadRequest", f"unknown operation {key}")
        sha = repository.commit(branch, files, title)
        self._send(
            {"success": True, "commitOid": sha, "commitUrl": f"{self.server.url}/{repository.name}/commit/{sha}"}
        )

    def _tree(self, files: dict[str, StoredFile], folder: str, recursive: bool) -> None:
        prefix = f"{folder}/" if folder else ""
        entries: dict[str, dict[str, Any]] = {}
        for path in sorted(path for path in files if path.startswith(prefix)):
            inner, *deeper = path.removeprefix(prefix).split("/")
            if deeper:
                entries[prefix + inner] = {"type": "directory", "path": prefix + inner, "oid": "0" * 40, "size": 0}
            if recursive or not deeper:
                entries[path] = files[path].describe(path)
        if folder and not entries:
            raise HubError(404, "EntryNotFound", f"no such folder: {folder}")
        self._send(list(entries.values()))

    def _download(self, repository: Repository, revision: str, path: str) -> None:
        sha, files = _snapshot(repository, revision)
        if path not in files:
            self._send({}, 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": sha})
            return
        file = files[path]
        headers = {"X-Repo-Commit": sha, "ETag": f'"{file.etag}"'}
        if file.large:
            headers |= {"X-Linked-ETag": f'"{file.etag}"', "X-Linked-Size": str(len(file.content))}
        self._send(file.content, headers=headers)
