"""Accepts or rejects a certificate of milpscore from the raw CSV file, in exact arithmetic.

Nothing of milpscore is imported, no NumPy and no solver: whole numbers and fractions of Python, and
balls of python-flint (or mpmath's intervals) for exponentials and logarithms. What the file must
say, and what has to be believed for "proved" to hold, stands in ``docs/howto/certificate.md``.
"""

from milpscore_check.report import Part as Part, Report as Report, check as check
from milpscore_check.table import Refused as Refused
