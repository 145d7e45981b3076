"""Wapiti, built from its source: what it reaches by when, in CPU seconds of its process.

Its folder, with the program ``wapiti`` and the data ``dat``, is named by MILPSCORE_WAPITI, or is
the one that ``make bench-rivals`` builds.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from _common import RIVALS

from milpscore.core.design import FloatArray
from milpscore_sequence import SequenceData
from milpscore_sequence.coding import Coding

SOURCE = Path(os.environ.get("MILPSCORE_WAPITI", RIVALS / "wapiti"))
PROGRAM = SOURCE / "wapiti"
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Run:
    """A training: CPU seconds until its data were read, and (seconds of training, objective)."""

    read: float = 0.0
    looks: list[tuple[float, float]] = field(default_factory=list)

    def until(self, level: float) -> float:
        """Seconds of training until the objective was at ``level`` or below; nan for never."""
        return next((cpu for cpu, value in self.looks if value <= level), np.nan)


def _cpu(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def trained(
    *options: str, patterns: Path, data: Path, model: Path, level: float, patience: float
) -> Run:
    """Train until the objective is at ``level`` or the CPU seconds are over; keep the model.

    Its own rules to stop are off, and it decodes no more than one short sequence at each look.
    """
    short = model.with_suffix(".dev")
    short.write_text(data.read_text().partition("\n\n")[0] + "\n\n")
    command = [PROGRAM, "train", *options, "-w", "0", "-e", "0", "-d", short, "-p", patterns]
    run, begun = Run(), 0.0
    with subprocess.Popen(
        [*map(str, command), str(data), str(model)], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("* Init"):
                run.read = _cpu(process.pid)
            elif line.startswith("* Train"):
                begun = _cpu(process.pid)
            elif line.startswith("  ["):
                value = line.partition("obj=")[2].split()[0]
                spent = _cpu(process.pid) - begun
                run.looks.append((spent, float("nan" if value == "NA" else value)))
                if run.looks[-1][1] <= level or spent > patience:
                    process.send_signal(signal.SIGINT)  # it saves its model
                    break
            if patience == 0.0 and begun:
                process.kill()
        process.communicate()
    return run


def weights(model: Path, coding: Coding) -> FloatArray:
    """The weights of a model in the layout of a coding whose patterns say u or b."""
    text = model.with_suffix(".dump")
    subprocess.run(
        [PROGRAM, "dump", "-p", "12", model, text], check=True, stderr=subprocess.DEVNULL
    )
    layout_labels = {label: number for number, label in enumerate(coding.labels)}
    n_labels = len(coding.labels)
    n_mu = len(coding.unigrams) * n_labels
    theta = np.zeros(n_mu + len(coding.bigrams) * n_labels**2)
    for line in filter(None, text.read_text().splitlines()):
        name, before, label, weight = line.split("\t")
        y = layout_labels[label]
        if before == "#":
            theta[coding.unigrams.numbers[name] * n_labels + y] = float(weight)
        elif name in coding.bigrams.numbers:  # not held at first positions alone
            pair = layout_labels[before] * n_labels + y
            theta[n_mu + coding.bigrams.numbers[name] * n_labels**2 + pair] = float(weight)
    return theta


def labelled(model: Path, data: Path, out: Path) -> float:
    """CPU seconds of labelling a file, those of loading the model left out."""
    empty = out.with_suffix(".none")
    empty.write_text("")
    seconds = []
    for given in (data, empty):
        before = os.times()
        subprocess.run(
            [PROGRAM, "label", "-m", model, given, out], check=True, stderr=subprocess.DEVNULL
        )
        after = os.times()
        seconds.append(
            after.children_user + after.children_system - before.children_user
            - before.children_system
        )  # fmt: skip
    return seconds[0] - seconds[1]


def objective(data: SequenceData, theta: FloatArray, rho1: float) -> float:
    """The penalised objective by the recursion in logarithms, by nothing of either racer."""
    from scipy import sparse

    assert data.labels is not None
    n, n_labels = data.n_positions, data.n_labels
    mu, lam = data.layout.split(theta)
    seen = sparse.csr_matrix(
        (np.ones(len(data.unigram_ids)), data.unigram_ids, data.unigram_ptr), (n, len(mu))
    )
    pairs = sparse.csr_matrix(
        (np.ones(len(data.bigram_ids)), data.bigram_ids, data.bigram_ptr), (n, len(lam))
    )
    own = seen @ mu
    moves = (pairs @ lam.reshape(len(lam), -1)).reshape(n, n_labels, n_labels)
    everywhere, labels = np.arange(n), data.labels
    score = own[everywhere, labels].sum()
    inner = np.setdiff1d(everywhere, data.first)
    score += moves[inner, labels[inner - 1], labels[inner]].sum()
    total = 0.0
    ahead = own[data.first]
    starts, ends = data.first, data.offsets[1:][data.lengths > 0]
    for step in range(1, int(data.lengths.max()) + 1):
        over = ends - starts == step
        total += np.logaddexp.reduce(ahead[over], axis=1).sum()
        starts, ends, ahead = starts[~over], ends[~over], ahead[~over]
        at = starts + step
        ahead = np.logaddexp.reduce(ahead[:, :, None] + moves[at], axis=1) + own[at]
    return float(total - score + rho1 * np.abs(theta).sum())
