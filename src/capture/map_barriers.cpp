#include "capture/mapping.h"

namespace autoperfect::mapping {

namespace {

namespace mx = mlx::core;

MappedPrimitive map_partition(const mx::array& output) {
  auto [kth, axis] = as<mx::Partition>(output).state();
  return with(Op::partition, {{"kth", int64_t{kth}}, {"axis", int64_t{axis}}});
}

MappedPrimitive map_arg_partition(const mx::array& output) {
  auto [kth, axis] = as<mx::ArgPartition>(output).state();
  return with(Op::arg_partition, {{"kth", int64_t{kth}}, {"axis", int64_t{axis}}});
}

MappedPrimitive map_random_bits(const mx::array& output) {
  auto [shape, width] = as<mx::RandomBits>(output).state();
  return with(Op::random_bits, {{"shape", shape_of(output)}, {"width", int64_t{width}}});
}

MappedPrimitive map_fft(const mx::array& output) {
  auto [axes, inverse, real, odd] = as<mx::FFT>(output).state();
  auto mapped = flagged(with(Op::fft, {{"axes", widen(axes)}}), "inverse", inverse);
  return flagged(flagged(std::move(mapped), "real", real), "odd", odd);
}

MappedPrimitive map_inverse(const mx::array& output) {
  auto [triangular, upper] = as<mx::Inverse>(output).state();
  return flagged(flagged({Op::inverse, {}}, "triangular", triangular), "upper", triangular && upper);
}

MappedPrimitive map_cholesky(const mx::array& output) {
  return flagged({Op::cholesky, {}}, "upper", as<mx::Cholesky>(output).state());
}

MappedPrimitive map_svd(const mx::array& output) {
  return flagged({Op::svd, {}}, "compute_uv", as<mx::SVD>(output).state());
}

MappedPrimitive map_eig(const mx::array& output) {
  return flagged({Op::eig, {}}, "vectors", as<mx::Eig>(output).state());
}

MappedPrimitive map_eigh(const mx::array& output) {
  auto [uplo, vectors] = as<mx::Eigh>(output).state();
  return flagged(with(Op::eigh, {{"uplo", uplo}}), "vectors", vectors);
}

}  // namespace

const Table& barriers() {
  static const Table table = {
      {"Sort", along_axis<mx::Sort, Op::sort>},
      {"ArgSort", along_axis<mx::ArgSort, Op::arg_sort>},
      {"Partition", map_partition},
      {"ArgPartition", map_arg_partition},
      {"RandomBits", map_random_bits},
      {"FFT", map_fft},
      {"Inverse", map_inverse},
      {"Cholesky", map_cholesky},
      {"SVD", map_svd},
      {"Eig", map_eig},
      {"Eigh", map_eigh},
  };
  return table;
}

}  // namespace autoperfect::mapping
