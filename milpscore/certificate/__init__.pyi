from ._certificate import Certificate as Certificate, certify as certify
from ._verify import (
    Part as Part,
    Verification as Verification,
    verify_certificate as verify_certificate,
)
from .new_rows import Generalisation as Generalisation, generalisation as generalisation

PROOF_SECONDS: float
