// Barriers whose attributes say everything.
#include "capture/applying.h"
#include "mlx/fft.h"
#include "mlx/linalg.h"
#include "mlx/random.h"

namespace autoperfect::applying {

namespace {

namespace linalg = mx::linalg;

// MLX draws for one key; several share the result equally, in order.
array random_bits(const Call& call) {
  int width = call.integer("width");
  const auto& key = call.in[0];
  if (key.ndim() == 1) return mx::random::bits(call.result_shape(), width, key);
  auto keys = mx::reshape(key, {-1, 2});
  Arrays parts;
  for (int i = 0; i < keys.shape(0); ++i) {
    auto share = static_cast<int>(call.type().elements() / keys.shape(0));
    parts.push_back(mx::random::bits({share}, width, mx::take(keys, i, 0)));
  }
  return mx::reshape(mx::concatenate(parts, 0), call.result_shape());
}

array fft(const Call& call) {
  auto axes = call.integers("axes");
  bool inverse = call.flag("inverse");
  const auto& x = call.in[0];
  if (!call.flag("real")) return inverse ? mx::fft::ifftn(x, axes) : mx::fft::fftn(x, axes);
  if (!inverse) return mx::fft::rfftn(x, axes);
  mx::Shape sizes;
  for (auto axis : axes)
    sizes.push_back(static_cast<int>(call.type().shape[axis]));
  return mx::fft::irfftn(x, sizes, axes);
}

// MLX factorizes on the CPU only.
Arrays factorization(const Call& call) {
  const auto& a = call.in[0];
  auto cpu = mx::Device(mx::Device::cpu);
  bool upper = call.flag("upper"), vectors = call.flag("vectors");
  auto both = [](const std::pair<array, array>& pair) { return Arrays{pair.first, pair.second}; };
  switch (call.node.op) {
    case Op::inverse:
      return {call.flag("triangular") ? linalg::tri_inv(a, upper, cpu) : linalg::inv(a, cpu)};
    case Op::cholesky:
      return {linalg::cholesky(a, upper, cpu)};
    case Op::qr:
      return both(linalg::qr(a, cpu));
    case Op::svd:
      return linalg::svd(a, call.flag("compute_uv"), cpu);
    case Op::lu:
      return linalg::lu_factor(a, cpu).first.outputs();  // its function hands out two of the three
    case Op::eig:
      return vectors ? both(linalg::eig(a, cpu)) : Arrays{linalg::eigvals(a, cpu)};
    default:
      return vectors ? both(linalg::eigh(a, call.text("uplo"), cpu))
                     : Arrays{linalg::eigvalsh(a, call.text("uplo"), cpu)};
  }
}

Arrays depends(const Call& call) {
  auto split = call.in.begin() + call.integer("outputs");
  return mx::depends({call.in.begin(), split}, {split, call.in.end()});
}

}  // namespace

Arrays barrier(const Call& call) {
  const auto& x = call.in[0];
  switch (call.node.op) {
    case Op::sort:
      return {mx::sort(x, call.integer("axis"))};
    case Op::arg_sort:
      return {mx::argsort(x, call.integer("axis"))};
    case Op::partition:
      return {mx::partition(x, call.integer("kth"), call.integer("axis"))};
    case Op::arg_partition:
      return {mx::argpartition(x, call.integer("kth"), call.integer("axis"))};
    case Op::random_bits:
      return {random_bits(call)};
    case Op::fft:
      return {fft(call)};
    case Op::depends:
      return depends(call);
    default:
      return factorization(call);
  }
}

}  // namespace autoperfect::applying
