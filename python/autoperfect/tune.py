"""``tune`` and ``gate``: kernels written by a model or by people, admitted only on proof."""

import dataclasses
import os
import pathlib

from . import _core
from .compile import CompiledFunction, compile

_LANGUAGES = {".cpp": "cpu", ".cu": "cuda", ".metal": "metal", ".py": "mlx", ".mlx": "mlx"}


@dataclasses.dataclass(frozen=True)
class TuneReport:
    """What tuning did. ``str(report)`` is the text of ``explain``, each candidate with its life.

    Attributes:
        function: the compiled function, which runs what won.
        regions: one dict a region: ``name``, ``use_mlx``, ``reason``, ``provenance`` of the winner, ``seconds``
            of a call, ``baselines`` (seconds of MLX), and ``attempts``, a list of dicts: ``round``, ``variant``,
            ``repair``, ``stage`` it came to, ``admitted``, ``won``, ``reason``, ``seconds``, ``stages`` (seconds).
        text: as ``str(report)``.
    """

    function: CompiledFunction
    regions: list
    text: str

    def __str__(self):
        return self.text


@dataclasses.dataclass(frozen=True)
class GateReport:
    """The verdict on a kernel that somebody wrote. ``str(report)`` is the text for people; true when it was admitted.

    Attributes:
        admitted: whether every check and every input family passed.
        won: whether it is the fastest there is for the kernel, and is kept and dispatched from now on.
        stage: the last stage it came to: "check", "compile", "gate" or "bench".
        reason: why it went no further; empty when it was admitted.
        families: one dict an input family: ``family``, ``passed``, ``worst_ulp``, ``eager_ulp``, ``failure``.
        arms: branch arms of the source, all of them reached by the inputs when it was admitted.
        isolation: what the process had that it was run in.
        seconds: of a call, measured beside ``baselines`` (seconds of MLX) and the best built-in schedule,
            ``built_in_seconds``; 0 when it was not timed.
    """

    admitted: bool
    won: bool
    stage: str
    reason: str
    families: list
    arms: int
    isolation: str
    seconds: float
    built_in_seconds: float
    baselines: dict
    text: str

    def __bool__(self):
        return self.admitted

    def __str__(self):
        return self.text


def tune(
    fun, *args, model=None, language=None, variants=4, repairs=2, rounds=1, budget=None, settings=None, isolation=None,
    progress=None, **kwargs,
):
    """Asks a model for kernels for ``fun`` with these arguments, and keeps the best that is proved.

    Each region of the program gets ``variants`` drafts a round. A draft is checked, compiled in a sandbox, proved
    against the reference in a process of its own, and only then timed, beside MLX and the built-in schedules. One
    that fails goes back with the evidence. What wins is kept in the cache: from then on ``ap.compile`` of any program
    with the same region runs it, without a model. Ctrl-C raises ``KeyboardInterrupt`` and keeps what was won.

    Args:
        fun: a function as ``ap.compile`` takes it, or what it made of one.
        *args, **kwargs: its arguments; only their shapes, dtypes and constants matter.
        model: who writes: ``"http://host:port/v1"`` (OpenAI-compatible), ``"anthropic:https://..."``,
            ``"command:program arguments"``, ``"folder:path"`` or ``"replay:path"``; a name may follow an address
            after ``#``. None: the environment's ``AUTOPERFECT_MODEL``, and where that is empty the built-in
            schedules alone are tried again.
        language: what drafts are written in: ``"cpu"`` (C++), ``"cuda"`` or ``"mlx"`` (MLX's operations). None: the
            default device's own, ``"cpu"`` or ``"cuda"``.
        variants: drafts of each round and region.
        repairs: how often each may be repaired.
        rounds: from the second on, the best so far is shown, to be improved.
        budget: seconds after which nothing more is asked. None: no limit.
        settings: dict of the model's options, such as ``{"temperature": 0.7, "spending_limit": 2}``.
        isolation: the least level (``"process"``, ``"seccomp"``, ``"landlock"``) that drafts may run under.
        progress: True or False; None: on a terminal.

    Returns:
        A ``TuneReport``.

    Raises:
        ValueError: an option that is unknown or out of range, or a model that cannot be opened. What ``fun`` raises.
    """
    compiled = fun if isinstance(fun, CompiledFunction) else compile(fun)
    request = _request(
        model=model or "", language=language or "", variants=variants,
        repairs=repairs, rounds=rounds, budget=float(budget or 0), settings=settings, isolation=isolation,
        progress=progress)  # fmt: skip
    text = compiled._tune(args, kwargs, request)
    try:
        regions = compiled.outcomes()
    except RuntimeError:  # plain MLX runs, as the text says
        regions = []
    return TuneReport(compiled, regions, text)


def gate(kernel, source, language=None, isolation=None, seed=0):
    """Checks, proves and times a kernel that somebody wrote, as those of a model are.

    When it is faster than MLX and the built-in schedules it is kept, and ``ap.compile`` runs it from then on.

    Args:
        kernel: the contract: KernelIR as text (``fast.kernels`` prints it), or the path of a file of it.
        source: the source as text, or the path of a file. It names buffers and axes as ``autoperfect prompt`` does:
            ``in0``, ``out0``.
        language: ``"cpu"``, ``"mlx"``, ``"cuda"`` or ``"metal"``; None: by the suffix of the path, the default device's own otherwise.
        isolation: the least level that the source may run under.
        seed: of the gate's inputs; 0: drawn anew.

    Returns:
        A ``GateReport``.

    Raises:
        TypeError: the kernel or the source is neither a text nor a path.
        ValueError: the kernel is no KernelIR, or an option is unknown.
        OSError: a file cannot be read.
    """
    path = _path(source, "source")
    if language is None:
        language = _LANGUAGES.get(path.suffix, "") if path else ""
    text = path.read_text() if path else source
    contract = _path(kernel, "kernel")
    request = _request(drafts=[(language, text)], isolation=isolation, seed=seed)
    row = _core.tune_kernels([contract.read_text() if contract else kernel], request)[0]
    written = [attempt for attempt in row["attempts"] if attempt["round"] == 1]
    if not written:
        raise RuntimeError(f"[gate] Nothing can be proved here: {row['reason']}")
    names = ("admitted", "won", "stage", "reason", "families", "arms", "isolation", "seconds", "built_in_seconds")
    return GateReport(**{name: written[0][name] for name in names}, baselines=row["baselines"], text=row["text"])


def _path(text, what):
    """A path, or None for a text of several lines."""
    if isinstance(text, os.PathLike):
        return pathlib.Path(text)
    if not isinstance(text, str):
        raise TypeError(f"[gate] {what} is a text or a path, not {type(text).__name__}.")
    return None if "\n" in text else pathlib.Path(text)


def _setting(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _request(settings=None, isolation=None, progress=None, **rest):
    request = {**rest, "settings": {name: _setting(value) for name, value in (settings or {}).items()}}
    if isolation is not None:
        request["isolation"] = isolation
    request["progress"] = os.isatty(2) if progress is None else progress
    return request
