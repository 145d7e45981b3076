from .cards import (
    Evaluation as Evaluation,
    Verdict as Verdict,
    check as check,
    evaluate as evaluate,
)
