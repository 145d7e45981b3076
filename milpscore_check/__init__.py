"""Accepts or rejects a certificate of milpscore from the raw CSV file, in exact arithmetic.

Nothing of milpscore is imported, no NumPy and no solver. What a certificate says, and what has to
be believed for "proved" to hold, stands in ``docs/howto/certificate.md``.
"""

from milpscore_check.report import check as check, proved as proved
from milpscore_check.table import Refused as Refused
