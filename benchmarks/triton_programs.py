"""Kernels as Triton's users write them by hand, one block of threads a row: contenders where such a kernel is standard.
Arithmetic is in float32 whatever the dtype. Without Triton there are none."""

from torch_programs import torch

try:
    import triton
    import triton.language as tl

    WITHOUT = "" if torch else "Triton kernels are left out: they take PyTorch's tensors"
except ImportError as missing:
    WITHOUT = f"Triton kernels are left out: Triton is not installed ({missing})"
if WITHOUT:
    triton = None


def about():
    return f"Triton {triton.__version__}" if triton else "without Triton"


if triton:

    @triton.jit
    def softmax_kernel(x, y, columns, width: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * columns
        at = tl.arange(0, width)
        value = tl.load(x + row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        value = tl.exp(value - tl.max(value, axis=0))
        tl.store(y + row + at, value / tl.sum(value, axis=0), mask=at < columns)

    @triton.jit
    def layer_norm_kernel(x, weight, bias, y, columns, epsilon, width: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * columns
        at = tl.arange(0, width)
        inside = at < columns
        value = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
        centred = tl.where(inside, value - tl.sum(value, axis=0) / columns, 0.0)
        scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
        w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + row + at, centred * scale * w + b, mask=inside)

    @triton.jit
    def rms_norm_kernel(x, weight, y, columns, epsilon, width: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * columns
        at = tl.arange(0, width)
        inside = at < columns
        value = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(value * value, axis=0) / columns + epsilon)
        w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + row + at, value * scale * w, mask=inside)

    @triton.jit
    def cross_entropy_kernel(logits, labels, losses, columns, smoothing, width: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        at = tl.arange(0, width)
        inside = at < columns
        value = tl.load(logits + row * columns + at, mask=inside, other=-float("inf")).to(tl.float32)
        highest = tl.max(value, axis=0)
        normalizer = highest + tl.log(tl.sum(tl.exp(value - highest), axis=0))
        mean = tl.sum(tl.where(inside, value, 0.0), axis=0) / columns
        score = tl.load(logits + row * columns + tl.load(labels + row)).to(tl.float32)
        tl.store(losses + row, normalizer - (1 - smoothing) * score - smoothing * mean)


def launch(columns):
    """How a kernel is launched whose block holds a row: its padded width, and warps by it."""
    width = triton.next_power_of_2(columns)
    return {"width": width, "num_warps": 4 if width <= 2048 else 8 if width <= 8192 else 16}


def softmax(x):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], **launch(x.shape[1]))
    return y


def layer_norm(x, weight, bias):
    y = torch.empty_like(x)
    layer_norm_kernel[(x.shape[0],)](x, weight, bias, y, x.shape[1], 1e-5, **launch(x.shape[1]))
    return y


def rms_norm(x, weight):
    y = torch.empty_like(x)
    rms_norm_kernel[(x.shape[0],)](x, weight, y, x.shape[1], 1e-6, **launch(x.shape[1]))
    return y


def cross_entropy(logits, labels):
    losses = torch.empty(logits.shape[0], device=logits.device)
    cross_entropy_kernel[(logits.shape[0],)](logits, labels, losses, logits.shape[1], 0.1, **launch(logits.shape[1]))
    return losses.mean().to(logits.dtype)


FUNCTIONS = {"softmax": softmax, "layer_norm": layer_norm, "rms_norm": rms_norm, "cross_entropy": cross_entropy}


def function(name):
    """None where there is none."""
    return FUNCTIONS.get(name) if triton else None
