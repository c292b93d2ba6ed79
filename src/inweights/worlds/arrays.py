"""Array types with shapes for signatures: ``Float[Floats, "N D"]``, as jaxtyping defines them.

Type checkers and tests evaluate them; at run time the library does not import
jaxtyping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bool", "Bools", "Float", "Floats", "Ids", "Int", "Integer", "Num", "Reals"]

Floats = NDArray[np.float64]
#: Real numbers of any precision.
Reals = NDArray[np.floating[Any]]
Ids = NDArray[np.int64]
Bools = NDArray[np.bool_]

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Integer, Num
else:  # annotations are text
    Bool = Float = Int = Integer = Num = None
