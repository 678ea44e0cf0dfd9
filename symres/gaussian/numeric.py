# temporary stand-in of the lead: overwrite freely
import mpmath as mp, sympy as sp
from flint import arb
from ..symbols import z
def average_ball(factors, covariance, bits):
    with mp.workprec(bits+20):
        if len(factors)==1:
            f=sp.lambdify(z,factors[0].as_expr(),"mpmath"); K=mp.mpf(str(covariance[0].mid().str(40,radius=False)))
            s=mp.sqrt(K); pts=sorted({-14.0,-4.0,0.0,4.0,14.0}|{float(b)/float(s) for b in factors[0].breaks if abs(float(b)/float(s))<14})
            v,e=mp.quad(lambda x: f(s*x)*mp.exp(-x*x/2)/mp.sqrt(2*mp.pi),pts,error=True)
            return arb(str(v),1e-25 if bits>100 else 1e-14)
        f,g=(sp.lambdify(z,p.as_expr(),"mpmath") for p in factors)
        K1,C,K2=(mp.mpf(str(c.mid().str(30,radius=False))) for c in covariance)
        mp.mp.prec=60
        a=mp.sqrt(K1); d=mp.sqrt(max(K2-C*C/K1,0))
        v=mp.quad(lambda x: mp.exp(-x*x/2)*f(a*x)*mp.quad(lambda y: mp.exp(-y*y/2)*g(C/a*x+d*y),sorted({-9,0,9}|({-(C/a*x)/d} if abs(C/a*x/d)<9 else set()))),[-9,0,9])/(2*mp.pi)
        return arb(str(v),1e-12)
