def plane_average(factors, covariance, bits): raise NotImplementedError
