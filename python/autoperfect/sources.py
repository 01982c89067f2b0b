"""Which line of a program made each array of a trace.

MLX does not keep that, so the lines are watched while they run: an array belongs to the line after which a variable
first holds it, or to the `return` that hands it out. What is never held (an operand inside an expression) belongs to
the line of what is made of it; that is left to who reads the result.
"""

import os
import sys

import mlx.core as mx

_LIBRARY = os.path.dirname(os.path.abspath(mx.__file__)) + os.sep
_DEEPEST = 2  # containers looked into: a list of tuples of arrays


def _arrays(value, depth=_DEEPEST):
    if isinstance(value, mx.array):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for item in value:
            yield from _arrays(item, depth - 1)
    elif depth and type(value) is dict:
        for item in value.values():
            yield from _arrays(item, depth - 1)


def _name(frame, line):
    path = frame.f_code.co_filename
    inside = os.path.join(os.getcwd(), "")
    shown = path[len(inside):] if path.startswith(inside) else path
    return f"{shown}:{line} in {frame.f_code.co_name}"


class Recorder:
    """Watches the lines that run on this thread between start() and stop().

    `found` lists (array, text) in the order the arrays were first seen, such as `model.py:12 in block`. In MLX's own
    Python code the line that called it is named. Nothing is recorded where a debugger or a coverage tool watches.
    """

    def __init__(self):
        self.found = []
        self._seen = set()
        self._lines = {}  # of each running frame: the line that is being executed
        self._active = False

    def start(self):
        self._active = sys.gettrace() is None
        if self._active:
            sys.settrace(self._enter_frame)

    def stop(self):
        if self._active:
            sys.settrace(None)
        self._active = False
        self._lines.clear()

    def _enter_frame(self, frame, event, argument):
        return self._watch

    def _watch(self, frame, event, argument):
        line = self._lines.get(frame)
        if line is not None:
            self._note(frame, line, frame.f_locals.values())
        if event == "return":
            self._note(frame, frame.f_lineno, (argument,))
            self._lines.pop(frame, None)
        elif event == "line":
            self._lines[frame] = frame.f_lineno
        return self._watch

    def _note(self, frame, line, values):
        for value in values:
            for array in _arrays(value):
                if id(array) not in self._seen:
                    self._seen.add(id(array))
                    self.found.append((array, self._place(frame, line)))

    def _place(self, frame, line):
        while frame.f_code.co_filename.startswith(_LIBRARY) and frame.f_back in self._lines:
            frame = frame.f_back
            line = self._lines[frame]
        return _name(frame, line)
