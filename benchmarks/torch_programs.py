"""The large workloads in PyTorch, for torch.compile as a contender. Without PyTorch there are none."""

import mlx.core as mx
import numpy as np

try:
    import torch
    import torch.nn.functional as F

    WITHOUT = "" if torch.cuda.is_available() else "torch.compile is left out: PyTorch sees no GPU"
except ImportError as missing:
    WITHOUT = f"torch.compile is left out: PyTorch is not installed ({missing})"
if WITHOUT:
    torch = None


def about():
    return f"PyTorch {torch.__version__}" if torch else "without PyTorch"


def mean_var(x):
    mean = x.mean(-1, keepdim=True)
    return mean, (x - mean).square().mean(-1, keepdim=True)


def residual_rms_norm(x, residual, weight):
    y = x + residual
    return y, y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6) * weight


def cross_entropy(logits, labels):
    return F.cross_entropy(logits, labels.long(), label_smoothing=0.1)


FUNCTIONS = {
    "add": lambda a, b: a + b,
    "gelu": lambda x: F.gelu(x),
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": lambda x: F.silu(x),
    "bias_gelu_residual": lambda x, bias, residual, scale: residual + scale * F.gelu(x + bias, approximate="tanh"),
    "masked_softmax": lambda x, mask: torch.softmax(torch.where(mask, x, torch.finfo(x.dtype).min), -1),
    "swiglu": lambda gate, x: F.silu(gate) * x,
    "sum": lambda x: x.sum(-1),
    "column_sum": lambda x: x.sum(0),
    "mean_var": mean_var,
    "rms_norm": lambda x, w: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w,
    "layer_norm": lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b, 1e-5),
    "residual_rms_norm": residual_rms_norm,
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "cross_entropy": cross_entropy,
    "middle_sum": lambda x: x.reshape(128, -1, x.shape[-1]).sum(1),
}


def function(name):
    """torch.compile of it; None where there is none. Each call compiles anew, for the sizes it meets first."""
    if torch is None or name not in FUNCTIONS:
        return None
    torch._dynamo.reset()
    return torch.compile(FUNCTIONS[name], dynamic=False)


def tensor_of(array):
    """The numbers of an MLX array, on the GPU."""
    dtypes = {mx.float32: torch.float32, mx.bfloat16: torch.bfloat16, mx.float16: torch.float16}
    if array.dtype in dtypes:
        return torch.from_numpy(np.array(array.astype(mx.float32))).cuda().to(dtypes[array.dtype])
    return torch.from_numpy(np.array(array)).cuda()


def copied(tensors):
    return [tensor.clone() for tensor in tensors]


def array_of(tensor):
    """As float32: half dtypes are exact there."""
    return mx.array(tensor.float().cpu().numpy())


def release():
    """Memory that is not in use goes back to the GPU."""
    if torch:
        torch.cuda.empty_cache()


def runner(function, sets):
    """run(calls, cold): that many calls, waited for; on the first of the sets of tensors, or, cold, on all in turn."""

    def run(calls, cold=False):
        used = sets if cold else sets[:1]
        with torch.no_grad():
            outputs = [function(*used[call % len(used)]) for call in range(calls)]
        torch.cuda.synchronize()
        del outputs

    return run
