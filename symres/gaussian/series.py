# temporary stand-in of the lead: overwrite freely
import sympy as sp

from ..symbols import z


def small_variance(factor, order):
    left=factor.part_at(sp.Rational(-1,10**9)); right=factor.part_at(sp.Rational(1,10**9))
    out={}
    for n in range(2*order+1):
        l=sp.series(left,z,0,2*order+1).removeO().coeff(z,n); r=sp.series(right,z,0,2*order+1).removeO().coeff(z,n)
        m=2**sp.Rational(n,2)*sp.gamma(sp.Rational(n+1,2))/sp.sqrt(sp.pi)
        c=(r+(-1)**n*l)/2*m
        if c!=0: out[sp.Rational(n,2)]=sp.simplify(c)
    return tuple(out.items())
