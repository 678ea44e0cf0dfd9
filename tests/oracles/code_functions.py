"""Functions that generated code contains, in mpmath's words; the others are called alike there."""

import mpmath as mp
import sympy as sp

from symres.codegen.stable import primitives
from symres.functions import companions
from tests.oracles import signs

MEANT = {
    companions.Erfc: mp.erfc,
    companions.Erfcx: lambda u: mp.exp(u * u) * mp.erfc(u),
    companions.Erfcxm1: lambda u: mp.exp(u * u) * mp.erfc(u) - 1,
    companions.Expm1: mp.expm1,
    companions.Log1p: mp.log1p,
    companions.Sigmoid: lambda u: 1 / (1 + mp.exp(-u)),
    companions.Softplus: lambda u: mp.log(1 + mp.exp(u)),
    companions.ExpSinh: lambda a, b: mp.exp(a) * mp.sinh(b),
    companions.ExpCosh: lambda a, b: mp.exp(a) * mp.cosh(b),
    companions.ExpCoshm1: lambda a, b: mp.exp(a) * (mp.cosh(b) - 1),
    primitives.Atan2: mp.atan2,
    primitives.UpperAngle: mp.atan2,
    companions.ScaledTail: lambda u, v, w: mp.exp(u) * mp.erfc(w),
    primitives.TwoSigns: lambda h, k, x, y: signs.S2(h, k, x / mp.hypot(x, y)),
    primitives.TwoTails: lambda h, k, x, y: signs.Q2(h, k, x / mp.hypot(x, y)),
    primitives.Restored: lambda v, x, y, b: v,
    primitives.AbsNode: abs,
    primitives.NonzeroDivisor: lambda u: u or mp.mpf(1),
    primitives.CrossDifference: lambda x, y, u, v: x * y - u * v,
    primitives.Separation: lambda k1, k2, c: mp.sqrt(k1 * k2) - c,
    sp.Abs: abs,
}
