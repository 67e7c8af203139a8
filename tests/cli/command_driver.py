"""Runs many command lines with a model that does what the texts say, each in a process of its own.

Reads a JSON list of cases from standard input, runs each in a fork of this process, which has the imports done, and
prints a JSON list of ``[exit status or minus signal, standard output, standard error]``. A case has ``arguments`` and,
as it likes, ``stdin`` (a file), ``stdout`` (a file, opened as ``mode`` says), ``closed`` (numbers of streams),
``file_size`` (the most bytes of a file, as on a full disk), ``terminal`` (standard output is one), ``ignored`` (names
of signals, as by nohup) and ``environment``.
"""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import sys
import tempfile
from contextlib import nullcontext, suppress
from types import ModuleType
from typing import Any

import hf_corefel.cli
import hf_corefel.processing
from hf_corefel.documents import AnnotatedDocument, Cluster, Document, Mention

SECONDS = 60


def annotate(documents: list[Document], batch_size: int | None = None, **asked: Any) -> list[dict[str, Any]]:
    """One cluster a document; a text that is the name of a signal sends it, ``error`` and ``memory`` raise,
    ``warn`` warns.
    """
    found = []
    for document in documents:
        if document.text in signal.Signals.__members__:
            os.kill(os.getpid(), signal.Signals[document.text])
        if document.text == "error":
            raise KeyError("nobody foresaw\nthis")
        if document.text == "memory":
            raise MemoryError
        clusters = [Cluster((Mention(0, 1),), "E", 1.0)] if document.text else []
        warnings = ["12 words were masked"] if document.text == "warn" else []
        found.append(AnnotatedDocument(document.text, clusters, document.id, warnings).to_dict())
    return found


def be_the_command(case: dict[str, Any], stdout: int, stderr: int) -> None:
    """Turns this process into the command; does not come back."""
    signal.alarm(SECONDS)
    # Not as whoever started the tests has them: a shell ignores SIGINT in what it starts in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGHUP", "SIGTERM"):
        signal.signal(signal.Signals[name], signal.SIG_DFL)
    for name in case.get("ignored", []):
        signal.signal(signal.Signals[name], signal.SIG_IGN)
    os.environ.update(case.get("environment", {}))
    stdin = os.open(case.get("stdin", os.devnull), os.O_RDONLY)
    if "stdout" in case:
        stdout = os.open(case["stdout"], os.O_WRONLY | os.O_CREAT | (os.O_APPEND if case.get("append") else 0))
    for number, file in enumerate((stdin, stdout, stderr)):
        os.dup2(file, number)
    encoding = case.get("encoding", "utf-8")
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", encoding=encoding), open(2, "w")  # noqa: SIM115
    for number in case.get("closed", []):
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)
        with suppress(OSError):  # the file object that is gone may have closed it
            os.close(number)
    if "file_size" in case:
        resource.setrlimit(resource.RLIMIT_FSIZE, (case["file_size"], case["file_size"]))
    sys.argv = ["hf-corefel", *case["arguments"]]
    hf_corefel.cli.main()


def run(case: dict[str, Any]) -> list[Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        master, slave = pty.openpty() if case.get("terminal") else (None, out.fileno())
        child = os.fork()
        if child == 0:
            status = 99
            try:
                be_the_command(case, slave, err.fileno())
            except SystemExit as left:
                status = int(left.code or 0)
            finally:
                os._exit(status)
        shown = b""
        if master is not None:
            os.close(slave)
            try:
                while part := os.read(master, 1 << 16):
                    shown += part
            except OSError:  # how Linux says that the other end is closed
                os.close(master)
        _, status = os.waitpid(child, 0)
        out.seek(0), err.seek(0)
        printed = shown + out.read(), err.read()
    return [os.waitstatus_to_exitcode(status), *(data.decode("utf-8", "surrogateescape") for data in printed)]


if __name__ == "__main__":
    fake = ModuleType("hf_corefel.pipeline_corefel")
    fake.load_pipeline = lambda model=None, **options: annotate  # type: ignore[attr-defined]
    sys.modules[fake.__name__] = fake
    # There is nothing to silence, and transformers takes seconds to import.
    sys.modules["hf_corefel.cli.annotate"].silent_transformers = nullcontext  # type: ignore[attr-defined]
    print(json.dumps([run(case) for case in json.load(sys.stdin)]))
