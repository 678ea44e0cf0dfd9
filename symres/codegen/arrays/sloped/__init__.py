"""Run-time functions of libraries that differentiate: with derivatives of their own."""
