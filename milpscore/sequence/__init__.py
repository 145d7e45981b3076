"""Labels of sequences: sparse linear-chain conditional random fields with the elastic net."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.sequence._crf import SparseCRF
    from milpscore.sequence._data import Layout, SequenceData
    from milpscore.sequence._generators import (
        GeneratedSequences,
        make_chunking,
        make_letters_to_phonemes,
        make_random_crf,
        sample_labels,
    )
    from milpscore.sequence._lbfgs import lbfgs
    from milpscore.sequence._measures import (
        report,
        sequence_accuracy,
        span_scores,
        spans,
        token_accuracy,
    )
    from milpscore.sequence._model import (
        log_partition,
        negative_log_likelihood,
        pair_posteriors,
        posterior_marginals,
        value_and_gradient,
    )
    from milpscore.sequence._owlqn import owlqn
    from milpscore.sequence._path import CrfPath, crf_path, rho1_max
    from milpscore.sequence._patterns import (
        Pattern,
        default_patterns,
        parse_patterns,
        read_patterns,
    )
    from milpscore.sequence._prepared import Prepared, prepare
    from milpscore.sequence._proximal import train_penalised
    from milpscore.sequence._reading import read_sequences, write_sequences
    from milpscore.sequence._sbcd import sbcd
    from milpscore.sequence._sgd import sgd
    from milpscore.sequence._stopping import Objective, Status
    from milpscore.sequence._trace import TraceRow, TrainOptions, TrainResult, decoding_errors
    from milpscore.sequence._trainers import TRAINERS, trainer
    from milpscore.sequence._viterbi import Labelling, n_best, viterbi
    from milpscore.sequence._vocabulary import Vocabulary

__all__ = [
    "TRAINERS",
    "CrfPath",
    "GeneratedSequences",
    "Labelling",
    "Layout",
    "Objective",
    "Pattern",
    "Prepared",
    "SequenceData",
    "SparseCRF",
    "Status",
    "TraceRow",
    "TrainOptions",
    "TrainResult",
    "Vocabulary",
    "crf_path",
    "decoding_errors",
    "default_patterns",
    "lbfgs",
    "log_partition",
    "make_chunking",
    "make_letters_to_phonemes",
    "make_random_crf",
    "n_best",
    "negative_log_likelihood",
    "owlqn",
    "pair_posteriors",
    "parse_patterns",
    "posterior_marginals",
    "prepare",
    "read_patterns",
    "read_sequences",
    "report",
    "rho1_max",
    "sample_labels",
    "sbcd",
    "sequence_accuracy",
    "sgd",
    "span_scores",
    "spans",
    "token_accuracy",
    "train_penalised",
    "trainer",
    "value_and_gradient",
    "viterbi",
    "write_sequences",
]

_EXPORTS = {
    "TRAINERS": "milpscore.sequence._trainers",
    "CrfPath": "milpscore.sequence._path",
    "GeneratedSequences": "milpscore.sequence._generators",
    "Labelling": "milpscore.sequence._viterbi",
    "Layout": "milpscore.sequence._data",
    "Objective": "milpscore.sequence._stopping",
    "Pattern": "milpscore.sequence._patterns",
    "Prepared": "milpscore.sequence._prepared",
    "SequenceData": "milpscore.sequence._data",
    "SparseCRF": "milpscore.sequence._crf",
    "Status": "milpscore.sequence._stopping",
    "TraceRow": "milpscore.sequence._trace",
    "TrainOptions": "milpscore.sequence._trace",
    "TrainResult": "milpscore.sequence._trace",
    "Vocabulary": "milpscore.sequence._vocabulary",
    "crf_path": "milpscore.sequence._path",
    "decoding_errors": "milpscore.sequence._trace",
    "default_patterns": "milpscore.sequence._patterns",
    "lbfgs": "milpscore.sequence._lbfgs",
    "log_partition": "milpscore.sequence._model",
    "make_chunking": "milpscore.sequence._generators",
    "make_letters_to_phonemes": "milpscore.sequence._generators",
    "make_random_crf": "milpscore.sequence._generators",
    "n_best": "milpscore.sequence._viterbi",
    "negative_log_likelihood": "milpscore.sequence._model",
    "owlqn": "milpscore.sequence._owlqn",
    "pair_posteriors": "milpscore.sequence._model",
    "parse_patterns": "milpscore.sequence._patterns",
    "posterior_marginals": "milpscore.sequence._model",
    "prepare": "milpscore.sequence._prepared",
    "read_patterns": "milpscore.sequence._patterns",
    "read_sequences": "milpscore.sequence._reading",
    "report": "milpscore.sequence._measures",
    "rho1_max": "milpscore.sequence._path",
    "sample_labels": "milpscore.sequence._generators",
    "sbcd": "milpscore.sequence._sbcd",
    "sequence_accuracy": "milpscore.sequence._measures",
    "sgd": "milpscore.sequence._sgd",
    "span_scores": "milpscore.sequence._measures",
    "spans": "milpscore.sequence._measures",
    "token_accuracy": "milpscore.sequence._measures",
    "train_penalised": "milpscore.sequence._proximal",
    "trainer": "milpscore.sequence._trainers",
    "value_and_gradient": "milpscore.sequence._model",
    "viterbi": "milpscore.sequence._viterbi",
    "write_sequences": "milpscore.sequence._reading",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
