"""How to break the text of a long formula into lines."""

from __future__ import annotations

_OPENING, _CLOSING = "([{⟨", ")]}⟩"
_LEAST = 12  # narrower columns are not worth an indentation


def wrap(text: str, width: int) -> list[str]:
    """Break a formula into lines of at most ``width``, at the operators that bind least.

    Later lines begin with their operator. Nothing but white space is added or removed.
    """
    if len(text) <= width:
        return [text]
    if width < _LEAST:
        return _cut(text, width)
    for operators, joint in (((" + ", " - "), " "), ((", ", "; "), " "), (("·", "*", "/"), "")):
        parts = _split(text, operators)
        if len(parts) > 1:
            return _packed(parts, joint, width)
    return _opened(text, width)


def _split(text: str, operators: tuple[str, ...]) -> list[str]:
    """The parts of a text between operators outside brackets; a part begins with its operator (a comma ends it)."""
    parts, depth, start = [], 0, 0
    for k, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0 and k > start and text.startswith(operators, k) and "**" not in text[k - 1 : k + 2]:
            cut = k + (character in ",;")
            parts.append(text[start:cut].strip())
            start = cut
    return [*parts, text[start:].strip()]


def _packed(parts: list[str], joint: str, width: int) -> list[str]:
    """Fill lines with parts; a part too long for a line is broken in itself."""
    lines: list[str] = []
    for part in parts:
        room = width - len(lines[-1]) - len(joint) if lines else 0
        if lines and len(part) <= room:
            lines[-1] += joint + part
        elif lines and len(part) > width and room > 2 * width // 3:
            first, *rest = _broken(part, room)
            margin = " " * (width - room)
            lines[-1] += joint + first
            lines += [margin + line for line in rest]
        else:
            lines += _broken(part, width)
    return lines


def _broken(part: str, width: int) -> list[str]:
    """One part over several lines, indented behind its operator."""
    operator = part[:2] if part[:2] in ("+ ", "- ") else part[:1] if part[0] in "·*/-" else ""
    first, *rest = wrap(part[len(operator) :], width - len(operator))
    return [operator + first, *(" " * len(operator) + line for line in rest)]


def _opened(text: str, width: int) -> list[str]:
    """Break inside the longest bracket of a text without operators outside brackets."""
    spans, depth, opened = [(0, 0, 0)], 0, 0
    for k, character in enumerate(text):
        if character in _OPENING:
            opened, depth = (k if depth == 0 else opened), depth + 1
        elif character in _CLOSING:
            depth -= 1
            if depth == 0:
                spans.append((k - opened, opened + 1, k))
    length, left, right = max(spans)
    head, tail = text[:left], text[right:]
    room = width - len(head) - len(tail)
    if length == 0 or room < _LEAST:
        return _cut(text, width)
    first, *rest = wrap(text[left:right], room)
    lines = [head + first, *(" " * len(head) + line for line in rest)]
    return [*lines[:-1], lines[-1] + tail]


def _cut(text: str, width: int) -> list[str]:
    """Lines of a text without a better place to break: a power stays whole."""
    lines = []
    while text:
        end = width - (text[width - 1 : width + 1] == "**" and width > 1)
        lines.append(text[:end])
        text = text[end:]
    return lines
