"""Whole programs: a transformer block's forward pass, and decoding with a model of mlx-lm (where it is installed) that has
random weights.

mlx-lm's own cache grows by a token a step, so that each step has shapes of its own. Beside that way of decoding there is one
with a cache of fixed length whose position is an array: then one graph serves every token, and can be compiled whole.
"""

import statistics
import time

import accuracy
import mlx.core as mx
import mlx.utils
import product
from workloads.mixed import TransformerBlock, causal_mask

try:
    from mlx_lm.models import cache as mlx_lm_cache
    from mlx_lm.models import llama
except ImportError as missing:
    llama, WITHOUT = None, f"mlx-lm is not installed ({missing})"

CLOSE = 3e-2  # of the norm: many layers of bfloat16
TOKENS, LENGTH, FORCED, REPEATS = 128, 256, 16, 3


def distance(ours, theirs):
    """The difference as a share of the norm."""
    ours, theirs = ours.astype(mx.float32), theirs.astype(mx.float32)
    return (mx.linalg.norm((ours - theirs).reshape(-1)) / mx.linalg.norm(theirs.reshape(-1))).item()


def close(ours, theirs):
    apart = max(distance(a, b) for a, b in zip(accuracy.leaves(ours), accuracy.leaves(theirs), strict=True))
    return apart <= CLOSE, apart


def with_random_weights(module, dtype=mx.bfloat16):
    key = mx.random.key(7)

    def draw(parameter):
        nonlocal key
        key, own = mx.random.split(key)
        if parameter.ndim == 1:
            return mx.ones(parameter.shape, dtype)
        return (mx.random.normal(parameter.shape, key=own) * parameter.shape[-1] ** -0.5).astype(dtype)

    module.update(mlx.utils.tree_map(draw, module.parameters()))
    mx.eval(module.parameters())
    return module


class Block:
    """A transformer block whose weights are its own, as in a program; made when it is first called."""

    def __init__(self, width):
        self.width, self.block = width, None

    def __call__(self, x, mask):
        if self.block is None:
            self.block = with_random_weights(TransformerBlock(self.width, self.width // 64))
        return self.block(x, mask)


def blocks(shrink=1):
    """(name, function, arguments) of forward passes in bfloat16."""
    for length, width in ((512, 1024), (2048, 2048)):
        length, width = max(16, length // shrink), max(128, width // shrink)

        def make(length=length, width=width):
            x = mx.random.normal((1, length, width), key=mx.random.key(1)).astype(mx.bfloat16)
            arguments = x, causal_mask(length)
            mx.eval(arguments)
            return arguments

        yield f"transformer block, {length} x {width}", Block(width), make


class FixedCache:
    """Keys and values of LENGTH places, of which those up to `position` are filled."""

    def __init__(self, keys, values, position):
        self.keys, self.values, self.offset = keys, values, position

    def update_and_fetch(self, keys, values):
        self.keys = mx.slice_update(self.keys, keys, self.offset, axes=(2,))
        self.values = mx.slice_update(self.values, values, self.offset, axes=(2,))
        return self.keys, self.values

    def make_mask(self, count, return_array=False, window_size=None):
        return mx.arange(self.keys.shape[2])[None] <= self.offset


def small_model(shrink=1):
    shrink = min(shrink, 8)
    sizes = llama.ModelArgs(
        model_type="llama",
        hidden_size=1024 // shrink,
        num_hidden_layers=max(2, 12 // shrink),
        intermediate_size=2816 // shrink,
        num_attention_heads=16,
        num_key_value_heads=8,
        rms_norm_eps=1e-5,
        vocab_size=32000 // shrink,
        head_dim=64,
    )
    return with_random_weights(llama.Model(sizes)), sizes


def step_of(model):
    """token, position, keys, values -> logits, next token, next position, keys, values"""

    def step(token, position, keys, values):
        caches = [FixedCache(k, v, position) for k, v in zip(keys, values)]
        logits = model(token, cache=caches)[:, -1]
        token = mx.argmax(logits, axis=-1, keepdims=True)
        return logits, token, position + 1, [c.keys for c in caches], [c.values for c in caches]

    return step


def empty_state(sizes):
    shape = 1, sizes.num_key_value_heads, LENGTH, sizes.head_dim
    zeros = [mx.zeros(shape, mx.bfloat16) for _ in range(2 * sizes.num_hidden_layers)]
    half = sizes.num_hidden_layers
    state = mx.array([[1]]), mx.array([0]), zeros[:half], zeros[half:]
    mx.eval(state)
    return state


def decode_fixed(step, sizes):
    """Greedy decoding, one step computed while the token before is read, as mlx-lm does. The tokens."""
    token, position, keys, values = empty_state(sizes)
    found = []
    for _ in range(TOKENS):
        _, following, position, keys, values = step(token, position, keys, values)
        mx.async_eval(following, position, keys, values)
        found.append(token.item())
        token = following
    return found[1:] + [token.item()]


def decode_growing(model):
    """The same with mlx-lm's own cache."""
    caches = mlx_lm_cache.make_prompt_cache(model)
    token, found = mx.array([[1]]), []
    for _ in range(TOKENS):
        following = mx.argmax(model(token, cache=caches)[:, -1], axis=-1, keepdims=True)
        mx.async_eval(following)
        found.append(token.item())
        token = following
    return found[1:] + [token.item()]


def forced_logits(step, sizes):
    """Logits after the same tokens, so that results are compared and not what one near tie made of them."""
    _, position, keys, values = empty_state(sizes)
    for number in range(FORCED):
        logits, _, position, keys, values = step(mx.array([[number * 37 % 1000]]), position, keys, values)
    return logits


def forced_logits_growing(model):
    caches = mlx_lm_cache.make_prompt_cache(model)
    for number in range(FORCED):
        logits = model(mx.array([[number * 37 % 1000]]), cache=caches)[:, -1]
    return logits


OWN_CACHE = "mlx-lm's own cache, eager"
CONTENDERS = {"eager": lambda step: step, "mx.compile": mx.compile, "ours": product.compile}


def decoders(shrink, names=CONTENDERS):
    """{name: (decode, forced logits)}, the compiled steps, sizes."""
    model, sizes = small_model(shrink)
    step = step_of(model)
    steps = {name: CONTENDERS[name](step) for name in names}
    found = {OWN_CACHE: (lambda: decode_growing(model), lambda: forced_logits_growing(model))}
    for name, one in steps.items():
        found[name] = (lambda one=one: decode_fixed(one, sizes), lambda one=one: forced_logits(one, sizes))
    return found, steps, sizes


def warm_decode(shrink, name):
    if llama:
        mx.eval(decoders(shrink, [name])[0][name][1]())


def measure_decode(shrink=1):
    """The row of decoding as a dict; None, and the reason printed, where there is none."""
    if not llama:
        print(f"decoding left out: {WITHOUT}")
        return None
    found, steps, sizes = decoders(shrink)
    logits = {name: forced() for name, (_, forced) in found.items()}
    apart = {name: distance(one, logits["eager"]) for name, one in logits.items()}
    outcomes = product.outcomes(steps["ours"])
    row = {
        "group": "decode",
        "name": f"{sizes.num_hidden_layers} layers of width {sizes.hidden_size}, vocabulary {sizes.vocab_size}",
        "dtype": "bf16",
        "size": [],
        "tokens": TOKENS,
        "kernels": sum(not outcome.use_mlx for outcome in outcomes),
        "regions": len(outcomes),
        "way": product.way(steps["ours"]),
        "apart": max(apart.values()),
        "correct": max(apart.values()) <= CLOSE,
    }
    if row["correct"]:
        row["tokens_per_second"], row["same_tokens"] = rates({name: decode for name, (decode, _) in found.items()})
    return row


def rates(decoders):
    """{name: [median, low, high]} of tokens a second, and how many of the first tokens are eager's."""
    tokens = {name: decode() for name, decode in decoders.items()}  # also the warm-up
    seconds = {name: [] for name in decoders}
    for _ in range(REPEATS):
        for name, decode in decoders.items():
            start = time.perf_counter()
            decode()
            seconds[name].append(time.perf_counter() - start)
    same = {}
    for name, found in tokens.items():
        pairs = [a == b for a, b in zip(found, tokens["eager"])]
        same[name] = pairs.index(False) if False in pairs else len(pairs)
    return {
        name: [TOKENS / statistics.median(times), TOKENS / max(times), TOKENS / min(times)]
        for name, times in seconds.items()
    }, same
