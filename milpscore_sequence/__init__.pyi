from ._crf import SparseCRF as SparseCRF
from ._data import Layout as Layout, Prepared as Prepared, SequenceData as SequenceData
from ._files import read_sequences as read_sequences, write_sequences as write_sequences
from ._measures import (
    report as report,
    sequence_accuracy as sequence_accuracy,
    span_scores as span_scores,
    spans as spans,
    token_accuracy as token_accuracy,
)
from ._tagging import Tagger as Tagger
from .generators import (
    make_chunking as make_chunking,
    make_letters_to_phonemes as make_letters_to_phonemes,
)
from .inference import (
    decoding_errors as decoding_errors,
    n_best as n_best,
    negative_log_likelihood as negative_log_likelihood,
    posterior_marginals as posterior_marginals,
    value_and_gradient as value_and_gradient,
    viterbi as viterbi,
)
from .patterns import parse_patterns as parse_patterns
from .training import (
    TRAINERS as TRAINERS,
    TrainOptions as TrainOptions,
    TrainResult as TrainResult,
    crf_path as crf_path,
    rho1_max as rho1_max,
    train as train,
)
