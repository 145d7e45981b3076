from ._crf import SparseCRF as SparseCRF
from ._data import Layout as Layout
from ._data import SequenceData as SequenceData
from ._generators import (
    GeneratedSequences as GeneratedSequences,
)
from ._generators import (
    make_chunking as make_chunking,
)
from ._generators import (
    make_letters_to_phonemes as make_letters_to_phonemes,
)
from ._generators import (
    make_random_crf as make_random_crf,
)
from ._generators import (
    sample_labels as sample_labels,
)
from ._lbfgs import lbfgs as lbfgs
from ._measures import (
    report as report,
)
from ._measures import (
    sequence_accuracy as sequence_accuracy,
)
from ._measures import (
    span_scores as span_scores,
)
from ._measures import (
    spans as spans,
)
from ._measures import (
    token_accuracy as token_accuracy,
)
from ._model import (
    log_partition as log_partition,
)
from ._model import (
    negative_log_likelihood as negative_log_likelihood,
)
from ._model import (
    pair_posteriors as pair_posteriors,
)
from ._model import (
    posterior_marginals as posterior_marginals,
)
from ._model import (
    value_and_gradient as value_and_gradient,
)
from ._owlqn import owlqn as owlqn
from ._path import CrfPath as CrfPath
from ._path import crf_path as crf_path
from ._path import rho1_max as rho1_max
from ._patterns import (
    Pattern as Pattern,
)
from ._patterns import (
    default_patterns as default_patterns,
)
from ._patterns import (
    parse_patterns as parse_patterns,
)
from ._patterns import (
    read_patterns as read_patterns,
)
from ._prepared import Prepared as Prepared
from ._prepared import prepare as prepare
from ._proximal import train_penalised as train_penalised
from ._reading import read_sequences as read_sequences
from ._reading import write_sequences as write_sequences
from ._sbcd import sbcd as sbcd
from ._sgd import sgd as sgd
from ._stopping import Objective as Objective
from ._stopping import Status as Status
from ._trace import (
    TraceRow as TraceRow,
)
from ._trace import (
    TrainOptions as TrainOptions,
)
from ._trace import (
    TrainResult as TrainResult,
)
from ._trace import (
    decoding_errors as decoding_errors,
)
from ._trainers import TRAINERS as TRAINERS
from ._trainers import trainer as trainer
from ._viterbi import Labelling as Labelling
from ._viterbi import n_best as n_best
from ._viterbi import viterbi as viterbi
from ._vocabulary import Vocabulary as Vocabulary
