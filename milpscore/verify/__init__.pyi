from .cards import Evaluation as Evaluation, check as check, evaluate as evaluate
