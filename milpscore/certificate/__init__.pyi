from ._certificate import Certificate as Certificate
from ._certify import certify as certify
from ._verify import (
    Part as Part,
)
from ._verify import (
    Verification as Verification,
)
from ._verify import (
    verify_certificate as verify_certificate,
)
