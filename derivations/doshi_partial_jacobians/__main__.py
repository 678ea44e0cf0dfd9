"""Print every claim of the document with its verdict."""

from . import claims

if __name__ == "__main__":
    for claim in claims():
        print(claim.judge())
