from ._crf import SparseCRF as SparseCRF
from ._data import Layout as Layout, SequenceData as SequenceData
from ._generators import (
    GeneratedSequences as GeneratedSequences,
    make_chunking as make_chunking,
    make_letters_to_phonemes as make_letters_to_phonemes,
    make_random_crf as make_random_crf,
    sample_labels as sample_labels,
)
from ._lbfgs import lbfgs as lbfgs
from ._measures import (
    report as report,
    sequence_accuracy as sequence_accuracy,
    span_scores as span_scores,
    spans as spans,
    token_accuracy as token_accuracy,
)
from ._model import (
    log_partition as log_partition,
    negative_log_likelihood as negative_log_likelihood,
    pair_posteriors as pair_posteriors,
    posterior_marginals as posterior_marginals,
    value_and_gradient as value_and_gradient,
)
from ._owlqn import owlqn as owlqn
from ._path import CrfPath as CrfPath, crf_path as crf_path, rho1_max as rho1_max
from ._patterns import (
    Pattern as Pattern,
    default_patterns as default_patterns,
    parse_patterns as parse_patterns,
    read_patterns as read_patterns,
)
from ._prepared import Prepared as Prepared, prepare as prepare
from ._proximal import train_penalised as train_penalised
from ._reading import read_sequences as read_sequences, write_sequences as write_sequences
from ._sbcd import sbcd as sbcd
from ._sgd import sgd as sgd
from ._stopping import Objective as Objective, Status as Status
from ._trace import (
    TraceRow as TraceRow,
    TrainOptions as TrainOptions,
    TrainResult as TrainResult,
    decoding_errors as decoding_errors,
)
from ._trainers import TRAINERS as TRAINERS, trainer as trainer
from ._viterbi import Labelling as Labelling, n_best as n_best, viterbi as viterbi
from ._vocabulary import Vocabulary as Vocabulary
