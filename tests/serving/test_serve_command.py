"""``hf-corefel serve`` as a process: it starts, answers, is put under load, and stops when all is answered."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import httpx
import pytest
from typer.testing import CliRunner

from hf_corefel.cli import app
from running_services import PATIENCE, wait_until

CLIENTS = 8
# Seconds that a process may take to end when the machine has much else to do.
ENDING = 240


def counted(client: httpx.Client, series: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith(f"{series} ")).rsplit(" ", 1)[1])


def test_eight_clients_lose_nothing_and_a_signal_ends_it(loading: ModuleType, tiny_folder: Path) -> None:
    with loading.served("--model", str(tiny_folder), "--batch-wait", "5") as (address, process):
        text = "Anna Berg met Carl Moss in Oslo. {} Berg praised Moss."
        load = loading.put_under_load(address, CLIENTS, 3.0, documents=3, text=text)
        assert load.wrong == [] and load.asked == load.answered >= 3 * CLIENTS
        with httpx.Client(base_url=address, timeout=PATIENCE, trust_env=False) as client:
            assert counted(client, 'corefel_documents_total{outcome="annotated"}') == load.asked
            # Several requests were read at once.
            assert counted(client, "corefel_batch_documents_sum") > 3 * counted(client, "corefel_batch_documents_count")
        process.terminate()
        assert process.wait(ENDING) == 0
        assert process.stderr is not None
        assert process.stderr.read() == "hf-corefel: stopped; all that was accepted is answered\n"


# A service whose model reads nothing before a file is there, so that a signal comes in between.
HELD_UP = """
import sys, time
from pathlib import Path
from hf_corefel import AnnotatedDocument
from hf_corefel.serving import ServingLimits, address_of, bind, create_app, serve

class HeldUp:
    def annotate(self, inputs, batch_size):
        while not Path(sys.argv[1]).exists():
            time.sleep(0.01)
        return [AnnotatedDocument(document.text, []) for document in inputs]

bound = bind("127.0.0.1", 0)
serve(create_app(HeldUp(), ServingLimits(batch_size=2)), bound, 60.0, lambda: print(address_of(bound), flush=True))
print("ended")
"""


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(other, marks=pytest.mark.slow) for other in (signal.SIGINT, signal.SIGHUP))],
)
def test_what_is_accepted_when_a_signal_comes_is_answered(
    loading: ModuleType, tmp_path: Path, number: signal.Signals
) -> None:
    go = tmp_path / "go"
    process = subprocess.Popen([sys.executable, "-c", HELD_UP, str(go)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with ThreadPoolExecutor(CLIENTS) as pool:
            asked = [pool.submit(loading.ask, address, [f"{n} a", f"{n} b"]) for n in range(CLIENTS)]
            with httpx.Client(base_url=address, timeout=PATIENCE, trust_env=False) as client:
                # One more is this question itself.
                wait_until(lambda: counted(client, "corefel_open_requests") == CLIENTS + 1)
            process.send_signal(number)
            wait_until(lambda: refused(address))
            go.touch()
            answers = [job.result(PATIENCE) for job in asked]
        assert [[item["text"] for item in answer] for answer in answers] == [
            [f"{n} a", f"{n} b"] for n in range(CLIENTS)
        ]
        assert process.wait(ENDING) == 0
        assert process.stdout.read() == "ended\n"
    finally:
        process.kill()
        process.communicate()


def refused(address: str) -> bool:
    """Whether nobody listens at an address."""
    host, port = address.removeprefix("http://").split(":")
    with socket.socket() as trial:
        return trial.connect_ex((host, int(port))) != 0


@pytest.mark.slow
def test_eight_clients_for_a_minute(loading: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """On the bundled checkpoint; the figures are printed, and judged by whoever reads them."""
    with loading.served() as (address, _):
        single = loading.single_call(address)
        load = loading.put_under_load(address, CLIENTS, 60.0)
    assert load.wrong == [] and load.asked == load.answered > CLIENTS
    with capsys.disabled():
        print(f"\n{load.asked} documents; p95 {load.percentile(95) / single:.2f} times a single call")


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["serve", *arguments])
    return done.exit_code, done.output


def test_an_address_that_is_taken_or_none_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, said = run("--port", str(port))
    assert (status, said) == (1, f"hf-corefel: cannot listen on 127.0.0.1, port {port}: Address already in use\n")
    status, said = run("--host", "no.such.host.invalid", "--port", "0")
    assert status == 1 and said.startswith("hf-corefel: cannot listen on no.such.host.invalid, port 0: ")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--timeout", "0"], 1, "cannot serve: timeout: expected a number of seconds, more than 0, got 0.0"),
        (["--timeout", "nan"], 1, "cannot serve: timeout: expected"),
        (["--max-queue", "0"], 2, "--max-queue"),
        (["--port", "65536"], 2, "--port"),
        (["--batch-wait", "-1"], 2, "--batch-wait"),
        (["--port", "0", "--model", "/no/such/model"], 1, "cannot load the model"),
        (["--port", "0", "--knowledge-base", "/no/such/base"], 1, "cannot read the knowledge base /no/such/base"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(arguments: list[str], status: int, message: str) -> None:
    found, said = run(*arguments)
    assert found == status and message in said and "Traceback" not in said


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "prometheus_client"])
def test_the_extra_is_named_where_a_package_is_missing(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("counters", "server", "service"):
        monkeypatch.delitem(sys.modules, f"hf_corefel.serving.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    status, said = run("--port", "0")
    assert status == 1
    assert f"serving needs the package {package}, which is not installed: pip install 'hf-corefel[serve]'" in said
