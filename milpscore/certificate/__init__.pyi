from ._certificate import Certificate as Certificate, certify as certify
from ._verify import (
    Part as Part,
    Verification as Verification,
    verify_certificate as verify_certificate,
)

PROOF_SECONDS: float
