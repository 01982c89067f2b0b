"""The large workloads in PyTorch, for torch.compile as a contender. Without PyTorch there are none."""

import mlx.core as mx

try:
    import torch
    import torch.nn.functional as F
except ImportError:
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


def tensor_of(array):
    dtypes = {mx.float32: torch.float32, mx.bfloat16: torch.bfloat16, mx.float16: torch.float16}
    if array.dtype in dtypes:
        return torch.randn(array.shape, device="cuda").to(dtypes[array.dtype])
    return torch.randint(0, 100, array.shape, device="cuda", dtype=torch.int32)


def runner(name, arguments):
    """run(calls) of the compiled function on tensors like the arguments; None where there is none."""
    if torch is None or name not in FUNCTIONS:
        return None
    tensors = [tensor_of(array) for array in arguments]
    torch._dynamo.reset()
    compiled = torch.compile(FUNCTIONS[name], dynamic=False)

    def run(calls):
        with torch.no_grad():
            outputs = [compiled(*tensors) for _ in range(calls)]
        torch.cuda.synchronize()
        del outputs

    return run
