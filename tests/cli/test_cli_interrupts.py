"""Ctrl-C while a command saves its work, and what a command leaves behind."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from test_cli import data, fit

from milpscore.cli.common import noting_interrupts

__all__ = ["data"]


def test_a_ctrl_c_while_saving_is_only_noted() -> None:
    handler = signal.getsignal(signal.SIGINT)
    with noting_interrupts() as interrupted:
        pass
    signal.raise_signal(signal.SIGINT)
    assert interrupted.is_set()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, handler)
    with pytest.raises(KeyboardInterrupt), noting_interrupts() as interrupted:
        signal.raise_signal(signal.SIGINT)
    assert interrupted.is_set()
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_command_leaves_the_handler_of_ctrl_c(data: Path) -> None:
    handler = signal.getsignal(signal.SIGINT)
    fit(data, "--max-terms", 1)
    assert signal.getsignal(signal.SIGINT) is handler
