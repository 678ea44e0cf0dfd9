import sympy as sp
from .activation import Activation
from ..symbols import z
def activation(text, **kw):
    if isinstance(text, Activation): return text
    t={"gelu": z*(1+sp.erf(z/sp.sqrt(2)))/2,"relu":sp.Max(0,z),"erf":sp.erf(z),"tanh":sp.tanh(z),"sin":sp.sin(z),"silu":z/(1+sp.exp(-z))}
    return Activation(text,t[text])
