"""exp(ψ(x)), the function that takes most of the time of variational inference.

ψ is the digamma function. For q(θ) = Dirichlet(γ), exp E[log θ_k] = exp(ψ(γ_k)) / exp(ψ(Σγ)).
"""

import math

import numpy as np

from models.arrays import Floats
from models.kernel import kernel

_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = 0.693145751953125  # 15 bits of ln 2: a product with a small integer is exact
_LN2_LOW = math.log(2.0) - _LN2_HIGH
_LARGEST_EXPONENT = 700.0  # exp(-700) ≈ 1e-304 is still a normal number
_UNDERFLOWING = 0.0145  # exp ψ(0.0145) ≈ 1e-30


@kernel
def exp_digamma(x: Floats, out: Floats) -> None:
    """Fill `out` with exp(ψ(x)) for x > 0; both are 1-D of one length.

    They may be the same array, but then the loop does not vectorise and is four times slower.
    Equivalent to `out[:] = np.exp(scipy.special.psi(x))`, within 2e-12 relative. Where the result
    is below 6e-304 (x < 0.00143) it is 6e-304.

    Written without branches and calls so that it vectorises. With y = x + 6 and Stirling's series,
    ψ(x) = log y - 1/(2y) - Σ_n B_2n / (2n y^2n) - Σ_{i<6} 1/(x+i), so that no logarithm is needed:
    exp(ψ(x)) = y exp(-t). The six fractions share one division: with u = x(x+5) they pair up to
    (2x+5) (1/u + 1/(u+4) + 1/(u+6)).
    """
    for i in range(x.shape[0]):
        a = x[i]
        y = a + 6.0
        u = a * (a + 5.0)
        p, q = u + 4.0, u + 6.0
        fractions = (2.0 * a + 5.0) * (p * q + u * q + u * p) / (u * p * q)
        z = 1.0 / y
        v = z * z
        series = v * (
            1 / 12
            - v * (1 / 120 - v * (1 / 252 - v * (1 / 240 - v * (1 / 132 - v * (691 / 32760)))))
        )
        t = 0.5 * z + series + fractions
        t = t if t < _LARGEST_EXPONENT else _LARGEST_EXPONENT
        # exp(-t) = 2^n exp(r), |r| <= ln(2)/2, by the Taylor polynomial of degree 11
        n = np.floor(0.5 - t * _LOG2_E)
        r = (-t - n * _LN2_HIGH) - n * _LN2_LOW
        e = 1 / 362880 + r * (1 / 3628800 + r * (1 / 39916800))
        e = 1 / 720 + r * (1 / 5040 + r * (1 / 40320 + r * e))
        e = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * e)))))
        two_to_n = np.int64((np.int64(np.int32(n)) + 1023) << 52).view(np.float64)
        out[i] = y * e * two_to_n


@kernel
def exp_digamma_up_to_factor(x: Floats, out: Floats) -> bool:
    """Fill `out` with exp(ψ(x)), times a factor if every x is so small that `out` would underflow.
    `x` and `out` are different arrays. With ψ(x) = ψ(x+1) - 1/x, the factor is exp(1/max(x)) if all
    x < 0.0145, else 1. Fixed points need only ratios of the results. Returns whether the factor is
    1.
    """
    exp_digamma(x, out)
    largest = 0.0
    for k in range(x.shape[0]):
        largest = x[k] if x[k] > largest else largest
    if largest >= _UNDERFLOWING:
        return True
    for k in range(x.shape[0]):
        out[k] = x[k] + 1.0
    exp_digamma(out, out)
    for k in range(x.shape[0]):
        out[k] *= np.exp(1.0 / largest - 1.0 / x[k])
    return False
