"""How the command starts and ends: streams that are closed or full, signals, wrong arguments, and what nobody foresaw.

Whatever ends it, the user reads one sentence and not a traceback, and the exit status says the usual.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup

from .messages import TRACEBACK_VARIABLE, complain, harmless, with_notes, writing_to_stdout

__all__ = ["Commands", "run"]

# What ends a command kindly, where the system has it.
_STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class StoppedError(KeyboardInterrupt):
    """The process was sent a signal to stop.

    Attributes:
        signal: Its number.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


class Commands(TyperGroup):
    """The commands; what they are given wrongly is quoted harmlessly, and being stopped is said in a sentence."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _quoted_harmlessly():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        try:
            with _quoted_harmlessly():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            number = getattr(error, "signal", signal.SIGINT)
            complain(with_notes(f"stopped by {signal.Signals(number).name}", error))
            raise typer.Exit(128 + number) from error


@contextmanager
def _quoted_harmlessly() -> Iterator[None]:
    """Escapes what errors about the command line quote from it."""
    try:
        yield
    except Exception as error:
        # The class's place differs between releases of typer; the one that holds the help quotes nothing.
        if hasattr(error, "format_message") and type(error).__name__ != "NoArgsIsHelpError":
            for name, value in vars(error).items():
                if isinstance(value, str):
                    setattr(error, name, harmless(value))
        raise


def run(app: Callable[[], Any]) -> None:
    """Runs the commands as the program of this process, and leaves with the exit status."""
    _fill_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A text may hold what the terminal's encoding lacks; better a mark in its place than no result at all.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    status: Any = 0
    with _stopped_by_signals():
        try:
            app()
        except SystemExit as left:
            status = left.code
        except KeyboardInterrupt as error:  # before or after the command itself
            status = 128 + getattr(error, "signal", signal.SIGINT)
        except Exception as error:  # the last resort: a sentence in place of a traceback
            if os.environ.get(TRACEBACK_VARIABLE):
                raise
            if not (isinstance(error, OSError) and _flushed()):  # which has said what is wrong with standard output
                complain(with_notes(_unforeseen(error), error))
            status = 1
    sys.exit(_flushed() or status)


def _unforeseen(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot go on: {error.strerror or error}{f': {error.filename}' if error.filename else ''}"
    return (
        f"unexpected {type(error).__name__}: {error}; this may be a fault of the program: set {TRACEBACK_VARIABLE}=1 "
        "to see where it comes from, and report it"
    )


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """While inside, signals that end the process raise `StoppedError`; those that are ignored, as by nohup, stay so."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise StoppedError(number)

    earlier: dict[int, Any] = {}
    with suppress(ValueError):  # only the main thread may
        for number in _STOPPING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                earlier[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _fill_closed_streams() -> None:
    """Puts something in the place of standard streams that are closed (``>&-``), whose use then is an error.

    Otherwise the next file that is opened would get their number, and what is printed would land in it.
    """
    # Reading from what is for writing only, and the other way round, fails as a closed file does.
    for number, name, access, mode in (
        (0, "stdin", os.O_WRONLY, "r"),
        (1, "stdout", os.O_RDONLY, "w"),
        (2, "stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:
            with suppress(OSError):
                if os.open(os.devnull, access) == number:
                    setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _flushed() -> int:
    """Writes what is still to be written to standard output; the exit status if that cannot be, else 0."""
    try:
        with writing_to_stdout():
            sys.stdout.flush()
    except BrokenPipeError:
        with suppress(OSError, ValueError):  # or Python would try again when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except typer.Exit as left:
        return left.exit_code
    except (AttributeError, ValueError):  # there is none, or it was closed
        pass
    return 0
