"""Runs ``hf-corefel`` with a model that does what texts say, in worker processes too, which import this file again.

A text that is ``error`` cannot be annotated; ``kill`` ends the process that reads it; ``wait`` waits as long as there
is a file ``hold``. Where there is a folder ``pids``, it gets a file of the name of each process that reads.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from types import ModuleType
from typing import Any

from hf_corefel.documents import AnnotatedDocument, Cluster, Document, Mention

PAUSE = float(os.environ.get("SECONDS_A_DOCUMENT", "0"))


def annotate(documents: list[Document], batch_size: int | None = None, **asked: Any) -> list[dict[str, Any]]:
    found = []
    for document in documents:
        time.sleep(PAUSE)
        if os.path.isdir("pids"):
            open(f"pids/{os.getpid()}", "w").close()
        while document.text == "wait" and os.path.exists("hold"):
            time.sleep(0.01)
        if document.text == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if document.text == "error":
            raise ValueError("this text is an error")
        clusters = [Cluster((Mention(0, 1),), "E", len(document.text) / 10_000)]
        found.append(AnnotatedDocument(document.text, clusters, document.id).to_dict())
    return found


def put_in_place() -> None:
    """Puts the model in the place of real ones; a process of Ray is told to call it, others do as they import this."""
    fake = ModuleType("hf_corefel.pipeline_corefel")
    fake.load_pipeline = lambda model=None, **options: annotate  # type: ignore[attr-defined]
    sys.modules[fake.__name__] = fake


put_in_place()

if __name__ == "__main__":
    from hf_corefel.cli import main

    if "ray" in sys.argv:
        # Takes the description of all processes of a job, which whoever starts it may give.
        os.environ["RAY_JOB_CONFIG_JSON_ENV_VAR"] = json.dumps(
            {"runtime_env": {"worker_process_setup_hook": "job_driver.put_in_place"}}
        )
    main()
