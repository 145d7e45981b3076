"""Accepts or rejects a certificate from the raw CSV file; see ``docs/howto/certificate.md``."""

from milpscore_check.report import check as check, proved as proved
from milpscore_check.values import Refused as Refused
