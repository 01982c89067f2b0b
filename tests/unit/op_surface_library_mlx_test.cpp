// Composites and barriers: library functions, transformations' own nodes, and what MLX keeps whole on a GPU.

#include "op_surface.h"
#include "unexported_primitives.h"

namespace autoperfect {
namespace {

namespace fast = mx::fast;

TEST(OpSurface, LibraryFunctions) {
  Surface surface;
  for (auto dtype : every_dtype()) {
    for (const auto& shape : every_shape) {
      for (auto layout : every_layout) {
        auto x = stored(numbers(shape, dtype), layout);
        for (bool precise : {false, true}) {
          auto softmax = [=](const Arrays& in) { return Arrays{mx::softmax(in[0], -1, precise)}; };
          surface.run("softmax", softmax, {x});
        }
        surface.run(
            "logsumexp", [](const Arrays& in) { return Arrays{mx::logsumexp(in[0], -1, true)}; }, {x});
      }
      auto divmod = [](const Arrays& in) { return mx::divmod(in[0], in[1]); };
      surface.run(
          "divmod",
          divmod,
          {numbers(shape, dtype), mx::maximum(mx::abs(numbers(shape, dtype, 1)), array(1, dtype))});
      surface.run(
          "divmod by a number", divmod, {numbers(shape, dtype), array(2, dtype)});  // by 0, MLX crashes
    }
    auto ordered = [](const Arrays& in) {
      auto first = mx::depends({in[0], mx::exp(in[1])}, {in[1], mx::square(in[0])});
      return Arrays{first[1], first[0]};
    };
    surface.run("depends", ordered, {numbers({2, 3}, dtype), numbers({4}, dtype)});
  }
  for (Op op : {Op::softmax, Op::logsumexp, Op::divmod, Op::depends})
    EXPECT_GE(surface.count(op), 10) << name(op);
}

TEST(OpSurface, Barriers) {
  Surface surface;
  for (auto dtype : every_dtype()) {
    for (const auto& shape : every_shape) {
      for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
        for (auto layout : every_layout) {
          auto x = stored(numbers(shape, dtype), layout);
          auto each = [&](const char* name, auto op) {
            surface.run(name, [=](const Arrays& in) { return Arrays{op(in[0], axis)}; }, {x});
          };
          each("sort", [](const array& a, int axis) { return mx::sort(a, axis); });
          each("argsort", [](const array& a, int axis) { return mx::argsort(a, axis); });
          each("partition", [](const array& a, int axis) { return mx::partition(a, -1, axis); });
          each("argpartition", [](const array& a, int axis) { return mx::argpartition(a, 0, axis); });
        }
      }
    }
  }
  for (const auto& shape : every_shape) {
    for (int width : {1, 2, 4}) {
      auto bits = [=](const Arrays& in) { return Arrays{mx::random::bits(shape, width, in[0])}; };
      surface.run("bits", bits, {mx::random::key(7)});
      auto keys = [=](const Arrays& in) {
        auto one = [=](const array& key) { return mx::random::bits(shape, width, key); };
        return Arrays{mx::vmap(one)(in[0])};
      };
      surface.run("bits of many keys", keys, {mx::random::split(mx::random::key(3), 5)});
    }
    auto normal = [=](const Arrays& in) { return Arrays{mx::random::normal(shape, in[0])}; };
    surface.run("normal", normal, {mx::random::key(1)});
  }
  for (Op op : {Op::sort, Op::arg_sort, Op::partition, Op::arg_partition, Op::random_bits})
    EXPECT_GE(surface.count(op), 30) << name(op);
}

TEST(OpSurface, Transforms) {
  Surface surface;
  for (auto dtype : every_dtype()) {
    for (const mx::Shape& shape : {mx::Shape{8}, mx::Shape{1}, mx::Shape{3, 6}, mx::Shape{2, 1, 5, 4}}) {
      for (auto layout : every_layout) {
        auto x = stored(numbers(shape, dtype), layout);
        auto each = [&](const char* name, auto op) {
          surface.run(name, [=](const Arrays& in) { return Arrays{op(in[0])}; }, {x});
        };
        each("fft", [](const array& a) { return mx::fft::fft(a); });
        each("ifft", [](const array& a) { return mx::fft::ifft(a); });
        each("rfft", [](const array& a) { return mx::fft::rfft(a); });
        each("irfft", [](const array& a) { return mx::fft::irfft(a); });
        each("irfft of odd size", [](const array& a) { return mx::fft::irfft(a, 7, -1); });
        each("fftn", [](const array& a) { return mx::fft::fftn(a); });
        each("irfft2", [](const array& a) { return mx::fft::irfft2(a); });
        each("padded ortho", [](const array& a) { return mx::fft::fft(a, 12, 0, mx::fft::FFTNorm::Ortho); });
      }
    }
  }
  EXPECT_GE(surface.count(Op::fft), 200);
}

TEST(OpSurface, Factorizations) {
  namespace linalg = mx::linalg;
  Surface surface;
  for (auto dtype : {mx::float32, mx::float64, mx::complex64}) {
    for (const mx::Shape& batch : {mx::Shape{}, mx::Shape{2}, mx::Shape{2, 1}}) {
      auto shape = batch;
      shape.insert(shape.end(), {3, 3});
      auto a = numbers(shape, dtype) + mx::multiply(array(9, dtype), mx::eye(3, dtype));
      auto symmetric = mx::matmul(a, mx::swapaxes(mx::conjugate(a), -1, -2));
      shape.back() = 5;
      auto wide = numbers(shape, dtype, 1);
      mx::eval(a, symmetric);
      auto each = [&](const char* name, auto op, const array& x) {
        for (auto layout : every_layout)
          surface.run(name, [=](const Arrays& in) { return Arrays(op(in[0])); }, {stored(x, layout)});
      };
      auto both = [](auto pair) { return Arrays{pair.first, pair.second}; };
      each(
          "inv", [](const array& x) { return Arrays{linalg::inv(x)}; }, a);
      each(
          "tri_inv", [](const array& x) { return Arrays{linalg::tri_inv(mx::triu(x), true)}; }, a);
      each(
          "cholesky",
          [](const array& x) {
            return Arrays{linalg::cholesky(x), linalg::cholesky(x, true)};
          },
          symmetric);
      each(
          "qr", [=](const array& x) { return both(linalg::qr(x)); }, wide);
      each(
          "svd", [](const array& x) { return linalg::svd(x, true, {}); }, wide);
      each(
          "singular values", [](const array& x) { return linalg::svd(x, false, {}); }, wide);
      each(
          "lu", [](const array& x) { return linalg::lu(x); }, a);
      each(
          "lu of a wide one", [](const array& x) { return linalg::lu(x); }, wide);
      each(
          "eig", [=](const array& x) { return both(linalg::eig(x)); }, a);
      each(
          "eigvals", [](const array& x) { return Arrays{linalg::eigvals(x)}; }, a);
      each(
          "eigh", [=](const array& x) { return both(linalg::eigh(x, "U")); }, symmetric);
      each(
          "eigvalsh", [](const array& x) { return Arrays{linalg::eigvalsh(x)}; }, symmetric);
      each(
          "solve", [](const array& x) { return Arrays{linalg::solve(x, x)}; }, a);
      each(
          "pinv", [](const array& x) { return Arrays{linalg::pinv(x)}; }, wide);
    }
  }
  for (Op op : {Op::inverse, Op::cholesky, Op::qr, Op::svd, Op::lu, Op::eig, Op::eigh})
    EXPECT_GE(surface.count(op), 6) << name(op);
}

// A node as MLX makes it on a GPU. It cannot be evaluated here, so what it must give is asked of the function
// itself.
template <class P, class... Args>
array kept_whole(const array& like, const Arrays& in, Args... args) {
  auto unused = [](const Arrays&) -> Arrays { throw std::logic_error("not evaluated"); };
  auto stream = mx::default_stream(mx::Device::cpu);
  return array(like.shape(), like.dtype(), std::make_shared<P>(stream, unused, args...), in);
}

TEST(OpSurface, Norms) {
  Surface surface;
  for (auto dtype : {mx::float16, mx::bfloat16, mx::float32}) {
    for (const mx::Shape& shape : {mx::Shape{6}, mx::Shape{2, 3, 6}}) {
      auto x = numbers(shape, dtype), w = numbers({6}, dtype, 1), b = numbers({6}, dtype, 2);
      auto rms = [](const Arrays& in) { return Arrays{kept_whole<fast::RMSNorm>(in[0], in, 1e-5f)}; };
      auto layer = [](const Arrays& in) { return Arrays{kept_whole<fast::LayerNorm>(in[0], in, 1e-4f)}; };
      surface.check("rms_norm", rms, {x, w}, {fast::rms_norm(x, w, 1e-5f)});
      surface.check("layer_norm", layer, {x, w, b}, {fast::layer_norm(x, w, b, 1e-4f)});
      auto one = array(1, dtype), none = array(0, dtype);
      surface.check("rms_norm without weight", rms, {x, one}, {fast::rms_norm(x, std::nullopt, 1e-5f)});
      surface.check(
          "layer_norm without weights",
          layer,
          {x, one, none},
          {fast::layer_norm(x, std::nullopt, std::nullopt, 1e-4f)});
    }
  }
  EXPECT_GE(surface.count(Op::rms_norm), 12);
  EXPECT_GE(surface.count(Op::layer_norm), 12);
}

TEST(OpSurface, NormGradients) {
  Surface surface;
  auto x = numbers({2, 3, 6}, mx::float32), g = numbers({2, 3, 6}, mx::float32, 4);
  auto w = numbers({6}, mx::float32, 1), b = numbers({6}, mx::float32, 2);
  auto unused = [](const Arrays&) -> Arrays { throw std::logic_error("not evaluated"); };
  auto stream = mx::default_stream(mx::Device::cpu);
  auto made = [&](std::shared_ptr<mx::Primitive> primitive) {
    return [=](const Arrays& in) {
      std::vector<mx::Shape> shapes;
      std::vector<mx::Dtype> dtypes;
      for (size_t i = 0; i + 1 < in.size(); ++i) {
        shapes.push_back(in[i].shape());
        dtypes.push_back(in[i].dtype());
      }
      return array::make_arrays(shapes, dtypes, primitive, in);
    };
  };
  auto rms = [](const Arrays& in) { return Arrays{fast::rms_norm(in[0], in[1], 1e-5f)}; };
  auto layer = [](const Arrays& in) { return Arrays{fast::layer_norm(in[0], in[1], in[2], 1e-5f)}; };
  surface.check(
      "rms_norm_vjp",
      made(std::make_shared<fast::RMSNormVJP>(stream, unused, 1e-5f)),
      {x, w, g},
      mx::vjp(rms, {x, w}, {g}).second);
  surface.check(
      "layer_norm_vjp",
      made(std::make_shared<fast::LayerNormVJP>(stream, unused, 1e-5f)),
      {x, w, b, g},
      mx::vjp(layer, {x, w, b}, {g}).second);
  EXPECT_EQ(surface.count(Op::rms_norm_vjp) + surface.count(Op::layer_norm_vjp), 2);
}

TEST(OpSurface, RotaryEmbedding) {
  Surface surface;
  for (auto dtype : {mx::float16, mx::bfloat16, mx::float32}) {
    for (bool traditional : {false, true}) {
      auto x = numbers({2, 2, 5, 8}, dtype);
      auto offset = array(3), offsets = array({1, 4});
      for (const auto& at : {offset, offsets}) {
        auto rope = [=](const Arrays& in) {
          return Arrays{kept_whole<fast::RoPE>(in[0], in, 6, traditional, 100.0f, 0.5f, true)};
        };
        surface.check("rope", rope, {x, at}, {fast::rope(x, 6, traditional, 100.0f, 0.5f, at)});
        auto back = [=](const Arrays& in) {
          return Arrays{kept_whole<fast::RoPE>(in[0], in, 6, traditional, 100.0f, 0.5f, false)};
        };
        auto forward = [=](const Arrays& in) {
          return Arrays{fast::rope(in[0], 6, traditional, 100.0f, 0.5f, at)};
        };
        surface.check("rope, backward", back, {x, at}, mx::vjp(forward, {x}, {x}).second);
      }
      auto frequencies = array({1.0f, 2.0f, 3.0f, 4.0f});
      auto given = [=](const Arrays& in) {
        return Arrays{kept_whole<fast::RoPE>(in[0], in, 8, traditional, 1.0f, 1.0f, true)};
      };
      surface.check(
          "rope of frequencies",
          given,
          {x, offset, frequencies},
          {fast::rope(x, 8, traditional, std::nullopt, 1.0f, offset, frequencies)});
    }
  }
  EXPECT_EQ(surface.count(Op::rope), 30);
}

TEST(OpSurface, Attention) {
  Surface surface;
  for (auto dtype : {mx::float16, mx::bfloat16, mx::float32}) {
    auto q = numbers({1, 4, 5, 8}, dtype), k = numbers({1, 2, 7, 8}, dtype, 1),
         v = numbers({1, 2, 7, 6}, dtype, 2);
    auto mask = numbers({1, 4, 5, 7}, mx::bool_, 3), added = numbers({1, 4, 5, 7}, dtype, 4);
    auto sinks = numbers({4}, dtype, 5), like = numbers({1, 4, 5, 6}, dtype);
    auto whole = [=](bool causal, bool with_sinks) {
      return [=](const Arrays& in) {
        return Arrays{
            kept_whole<fast::ScaledDotProductAttention>(like, in, 0.25f, causal, with_sinks, false, false)};
      };
    };
    auto attend = [&](const char* mode, std::optional<array> m, std::optional<array> s) {
      return Arrays{fast::scaled_dot_product_attention(q, k, v, 0.25f, mode, m, s)};
    };
    surface.check("plain", whole(false, false), {q, k, v}, attend("", {}, {}));
    surface.check("causal", whole(true, false), {q, k, v}, attend("causal", {}, {}));
    surface.check("mask", whole(false, false), {q, k, v, mask}, attend("", mask, {}));
    surface.check("added mask", whole(false, false), {q, k, v, added}, attend("", added, {}));
    surface.check("sinks", whole(false, true), {q, k, v, sinks}, attend("", {}, sinks));
    surface.check("mask and sinks", whole(false, true), {q, k, v, mask, sinks}, attend("", mask, sinks));
  }
  EXPECT_EQ(surface.count(Op::scaled_dot_product_attention), 18);
}

// With the second result that its gradient reads, and that gradient.
TEST(OpSurface, AttentionGradients) {
  Surface surface;
  auto stream = mx::default_stream(mx::Device::cpu);
  auto unused = [](const Arrays& in) { return in; };
  for (auto dtype : {mx::float16, mx::bfloat16, mx::float32}) {
    auto q = numbers({1, 4, 5, 8}, dtype), k = numbers({1, 2, 7, 8}, dtype, 1),
         v = numbers({1, 2, 7, 6}, dtype, 2);
    auto g = numbers({1, 4, 5, 6}, dtype, 3), totals = numbers({1, 4, 5, 1}, mx::float32, 4);
    for (bool causal : {false, true}) {
      auto attend = [=](const Arrays& in) {
        return Arrays{fast::scaled_dot_product_attention(in[0], in[1], in[2], 0.25f, causal ? "causal" : "")};
      };
      auto scores = mx::matmul(
          mx::astype(q, mx::float32) * 0.25f,
          mx::swapaxes(mx::repeat(mx::astype(k, mx::float32), 2, 1), 2, 3));
      if (causal)
        scores =
            mx::where(mx::tri(5, 7, 2, mx::bool_), scores, array(-std::numeric_limits<float>::infinity()));
      auto whole = [=](const Arrays& in) {
        auto primitive = std::make_shared<fast::ScaledDotProductAttention>(
            stream, unused, 0.25f, causal, false, true, false);
        return array::make_arrays({g.shape(), {1, 4, 5, 1}}, {dtype, mx::float32}, primitive, in);
      };
      auto gradient = [=](const Arrays& in) {
        auto primitive =
            std::make_shared<fast::ScaledDotProductAttentionVJP>(stream, unused, 0.25f, causal, false);
        return array::make_arrays({q.shape(), k.shape(), v.shape()}, {dtype, dtype, dtype}, primitive, in);
      };
      auto out = attend({q, k, v})[0];
      surface.check("with logsumexp", whole, {q, k, v}, {out, mx::logsumexp(scores, -1, true)});
      surface.check("gradient", gradient, {q, k, v, out, totals, g}, mx::vjp(attend, {q, k, v}, {g}).second);
    }
  }
  EXPECT_EQ(surface.count(Op::scaled_dot_product_attention_vjp), 6);
}

TEST(OpSurface, OtherNodesOfTransformations) {
  Surface surface;
  auto logits = numbers({3, 5}, mx::float32), targets = array({0, 4, 2});
  auto loss = [](const Arrays& in) {
    auto like = mx::astype(in[1], mx::float32);
    return Arrays{kept_whole<fast::CrossEntropy>(like, in)};
  };
  surface.check("cross_entropy", loss, {logits, targets}, {fast::cross_entropy(logits, targets)});
  auto given = numbers({3}, mx::float32, 1);
  auto gradient = [](const Arrays& in) { return Arrays{kept_whole<fast::CrossEntropyVJP>(in[0], in)}; };
  auto of_logits = [=](const Arrays& in) { return Arrays{fast::cross_entropy(in[0], targets)}; };
  surface.check(
      "cross_entropy_vjp",
      gradient,
      {logits, targets, given, given},
      mx::vjp(of_logits, {logits}, {given}).second);
  for (bool inverted : {false, true}) {
    auto count = [=](const Arrays& in) {
      auto stream = mx::default_stream(mx::Device::cpu);
      auto axes = std::vector<int>{0, 2};
      auto primitive = std::make_shared<mx::NumberOfElements>(stream, axes, inverted, mx::float32);
      return Arrays{array(mx::Shape{}, mx::float32, primitive, {in[0]})};
    };
    surface.check(
        "number_of_elements", count, {numbers({2, 3, 4}, mx::int8)}, {array(inverted ? 0.125f : 8.0f)});
  }
  auto custom = [](const Arrays& in) {
    auto fn = mx::custom_vjp(
        [](const Arrays& a) {
          return Arrays{mx::exp(a[0]) * a[1], a[1]};
        },
        [](const Arrays& a, const Arrays& g, const Arrays&) {
          return Arrays{g[0], g[1] + a[0]};
        });
    return fn(in);
  };
  surface.run("custom_vjp", custom, {numbers({4}, mx::float32), numbers({4}, mx::float32, 1)});
  auto packed = mx::quantize(numbers({4, 64}, mx::float16), 32, 4);
  mx::eval(packed);
  auto unpack = [](const Arrays& in) {
    auto like = mx::zeros({4, 64}, mx::float16);
    return Arrays{kept_whole<fast::Quantize>(like, in, 32, 4, mx::QuantizationMode::Affine, true)};
  };
  auto unpacked = mx::dequantize(packed[0], packed[1], packed[2], 32, 4);
  surface.check("dequantize", unpack, packed, {unpacked});
  for (Op op :
       {Op::cross_entropy,
        Op::cross_entropy_vjp,
        Op::number_of_elements,
        Op::custom_transforms,
        Op::dequantize})
    EXPECT_GE(surface.count(op), 1) << name(op);
}

// Ops that only text has: no primitive of MLX is one.
TEST(OpSurface, OpsOfTheTextAlone) {
  auto x = numbers({2, 3, 4}, mx::float16);
  auto run = [&](const std::string& node) {
    auto graph =
        parse_graph("autoperfect.graph 1\ngraph @g(%x: f16[2,3,4]) {\n  %y = " + node + "\n  return %y\n}\n");
    EXPECT_TRUE(graph.ok()) << node;
    return interpret(*graph, {x})[0];
  };
  EXPECT_TRUE(mx::array_equal(run("mean %x axes=[0, 2] : f16[3]"), mx::mean(x, {0, 2})).item<bool>());
  EXPECT_TRUE(
      mx::array_equal(run("var %x axes=[1] ddof=1 : f16[2,4]"), mx::var(x, {1}, false, 1)).item<bool>());
  EXPECT_TRUE(
      mx::array_equal(run("std %x axes=[2] keepdims=true : f16[2,3,1]"), mx::std(x, {2}, true)).item<bool>());
  auto log_softmax = mx::subtract(x, mx::logsumexp(x, -1, true));
  EXPECT_TRUE(mx::array_equal(run("log_softmax %x : f16[2,3,4]"), log_softmax).item<bool>());
}

}  // namespace
}  // namespace autoperfect
