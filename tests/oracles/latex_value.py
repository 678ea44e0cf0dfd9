"""The value of a formula in LaTeX, read by its own grammar: what stands on paper, not what the printer meant."""

import re

import mpmath as mp

FUNCTIONS = {
    r"\arcsin": mp.asin, r"\sin": mp.sin, r"\cos": mp.cos, r"\tanh": mp.tanh, r"\cosh": mp.cosh, r"\sinh": mp.sinh,
    r"\log": mp.log, r"\exp": mp.exp, r"\operatorname{erf}": mp.erf, r"\operatorname{erfc}": mp.erfc, r"\max": max,
}  # fmt: skip
_SILENT = re.compile(r"\\(?:left|right|[Bb]ig[lr]?)(?![a-z])|\\q?quad|&|\\\\(?![a-z])|\\,|\s+")
_TOKEN = re.compile(r"\\operatorname\{\w+\}|\\[a-zA-Z]+|\d+(?:\.\d+)?|[A-Za-z](?:_(?:\{\w+\}|\w))?|.")


def value(text, symbols):
    """The number that a LaTeX formula stands for, with numbers for its letters."""
    reader = Reader(_TOKEN.findall(_SILENT.sub(" ", text).replace(r"\{", "{")), symbols)
    result = reader.sum()
    assert reader.peek() is None, (text, reader.tokens[reader.at :])
    return result


class Reader:
    """Recursive descent; a product is juxtaposition."""

    def __init__(self, tokens, symbols):
        self.tokens = [t for t in tokens if t.strip()]
        self.symbols = symbols
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, *expected):
        token = self.peek()
        assert not expected or token in expected, (expected, token, self.tokens)
        self.at += 1
        return token

    def sum(self):
        total = mp.mpf(0)
        sign = -1 if self.peek() == "-" and self.take() else 1
        while True:
            total += sign * self.product()
            if self.peek() not in ("+", "-"):
                return total
            sign = 1 if self.take() == "+" else -1

    def product(self):
        total = self.power()
        while self.peek() not in (None, "+", "-", ")", "]", "}", ",", "|"):
            if self.peek() == "/":
                self.take()
                total /= self.power()
                continue
            if self.peek() in (r"\cdot", r"\times"):
                self.take()
            total *= self.power()
        return total

    def power(self):
        base = self.atom()
        if self.peek() == "^":
            self.take()
            return base ** self.group()
        return base

    def group(self):
        if self.peek() != "{":
            return self.atom()
        self.take()
        result = self.sum()
        self.take("}")
        return result

    def atom(self):
        token = self.take()
        if token == r"\frac":
            return self.group() / self.group()
        if token == r"\sqrt":
            order = 2
            if self.peek() == "[":
                self.take()
                order = self.sum()
                self.take("]")
            return mp.root(self.group(), int(order))
        if token in FUNCTIONS:
            return self.function(FUNCTIONS[token])
        if token in "([{|":
            result = self.sum()
            self.take({"(": ")", "[": "]", "{": "}", "|": "|"}[token])
            return abs(result) if token == "|" else result
        if token == "e":
            return mp.e
        if token == r"\pi":
            return mp.pi
        return mp.mpf(token) if token[0].isdigit() else self.symbols[token]

    def function(self, function):
        power = 1
        if self.peek() == "^":
            self.take()
            power = self.group()
        braces = self.peek() == "{" and self.take()
        self.take("(")
        arguments = [self.sum()]
        while self.peek() == ",":
            self.take()
            arguments.append(self.sum())
        self.take(")")
        if braces:
            self.take("}")
        return function(*arguments) ** power
