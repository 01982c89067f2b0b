#include "cost/mlx_cost.h"

#include <algorithm>
#include <cmath>

#include "cost/bytes.h"
#include "cost/weight.h"

namespace autoperfect {
namespace {

// Nanoseconds of an element in MLX's loops on the CPU, one thread, data in the caches: in f32 (and integers),
// bf16 and f16. Measured on one server processor; others differ by less than the classes do.
struct Nanoseconds {
  double f32, bf16, f16;
  double of(Dtype dtype) const {
    if (dtype == Dtype::bf16) return bf16;
    if (dtype == Dtype::f16) return f16;
    return dtype == Dtype::c64 ? 4 * f32 : size_of(dtype) > 4 ? 1.5 * f32 : f32;
  }
};

constexpr Nanoseconds light = {0.15, 0.45, 3.0};  // vectorised by the compiler, f16 element by element
constexpr Nanoseconds row_reduction = {0.5, 0.8, 0.9}, other_reduction = {0.15, 0.25, 0.9};
constexpr Nanoseconds largest_of_row = {0.5, 3.5, 7.0}, scan = {0.5, 4.2, 11.0};
constexpr Nanoseconds strided_operand = {1.0, 1.0, 1.0};  // instead of reading on
constexpr double block_copy = 0.15, concatenation = 0.6, lookup = 1.75, lookup_along = 0.6, scattered = 3.0;
constexpr double compared = 4.2;  // sort, times log2 of the length
constexpr double partitioned = 8.0, random_word = 9.0, butterfly = 3.0, unknown_op = 1.0;
constexpr int64_t block = 16;  // elements from where a copy is worth its call

Nanoseconds elementwise(Op op) {
  switch (op) {
    case Op::select:
      return {3.3, 3.5, 3.5};
    case Op::cast:
      return {0.2, 0.3, 1.4};
    case Op::sqrt:
      return {1.1, 1.3, 3.6};
    case Op::rsqrt:
      return {1.7, 2.5, 9.0};
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return {1.0, 2.0, 4.0};
    case Op::floor_divide:
      return {1.1, 3.4, 9.9};
    case Op::log:
    case Op::log2:
    case Op::log10:
      return {1.8, 2.8, 5.4};
    case Op::asin:
    case Op::acos:
      return {2.1, 3.0, 7.7};
    case Op::exp:
    case Op::expm1:
    case Op::log1p:
    case Op::remainder:
      return {9.0, 10.0, 13.0};
    case Op::sigmoid:
      return {9.3, 20.0, 30.0};
    case Op::power:
      return {9.0, 35.0, 12.0};
    case Op::erf:
    case Op::erfinv:
      return {17.0, 43.0, 32.0};
    case Op::logaddexp:
      return {15.0, 67.0, 74.0};
    default:
      return weight_of(op) == Weight::heavy ? Nanoseconds{11.5, 25.0, 22.0} : light;
  }
}

Nanoseconds composite(Op op) {
  switch (op) {
    case Op::softmax:
      return {9.9, 15.0, 30.0};
    case Op::log_softmax:
    case Op::logsumexp:
    case Op::cross_entropy:
      return {10.0, 10.5, 11.0};
    case Op::mean:
      return row_reduction;
    case Op::var:
    case Op::std:
    case Op::rms_norm:
    case Op::layer_norm:
      return {1.2, 2.5, 8.0};
    default:
      return {5.0, 8.0, 12.0};
  }
}

// Read along another axis than it lies in memory.
bool is_strided(const Graph& graph, ValueId v) {
  const Node* node = graph.producer(v);
  if (!node || node->op != Op::transpose) return false;
  const auto& axes = node->attributes.get<std::vector<int64_t>>("axes");
  return !axes.empty() && axes.back() + 1 != static_cast<int64_t>(axes.size());
}

bool reduces_rows(const Graph& graph, const Node& node) {
  int64_t last = graph.type(node.operands[0]).rank() - 1;
  if (auto* axes = node.attributes.find("axes"))
    return !std::get<std::vector<int64_t>>(*axes).empty() &&
           std::get<std::vector<int64_t>>(*axes).back() == last;
  return true;
}

double reduction_nanoseconds(const Graph& graph, const Node& node) {
  Dtype dtype = graph.type(node.operands[0]).dtype;
  bool rows = reduces_rows(graph, node);
  bool picks = node.op != Op::sum && node.op != Op::prod;
  return (rows && picks ? largest_of_row : rows ? row_reduction : other_reduction).of(dtype);
}

// What MLX's kernels for CUDA reach of the speed of its others, in f32, bf16 and f16: those load one element
// of a half dtype at a time, or do more for an element than memory takes. Measured on an H200, 8192 x 4096;
// where no kernel of ours is faster, 1.
struct Share {
  double f32, bf16, f16;
};

Share share_of(Op op, bool rows) {
  constexpr Share all = {1, 1, 1};
  switch (op) {
    case Op::argmax:
    case Op::argmin:
      return rows ? Share{0.3, 0.2, 0.2} : Share{0.2, 0.15, 0.15};
    case Op::cumsum:
    case Op::cumprod:
      return rows ? Share{0.5, 0.5, 0.45} : all;
    case Op::cummax:
    case Op::cummin:
      return rows ? Share{0.65, 1, 1} : all;  // no kernel of ours scans halves so
    case Op::logcumsumexp:
      return rows ? Share{0.3, 0.15, 0.15} : all;
    case Op::sum:
      return rows ? all : Share{1, 0.75, 0.6};
    case Op::prod:
    case Op::max:
    case Op::min:
      return rows ? all : Share{0.8, 0.7, 0.65};
    default:
      return all;
  }
}

double share_on_gpu(const Graph& graph, const Node& node) {
  constexpr int64_t few_columns = 32;
  constexpr double of_one_block = 0.017;  // scans have a block a row
  if (class_of(node.op) != OpClass::reduction && class_of(node.op) != OpClass::scan) return 1;
  const TensorType& read = graph.type(node.operands[0]);
  bool rows = reduces_rows(graph, node);
  if (const auto* axis = node.attributes.find("axis")) rows = std::get<int64_t>(*axis) + 1 == read.rank();
  if (!rows && read.shape.back() < few_columns) return 1;
  Share share = share_of(node.op, rows);
  double reached = read.dtype == Dtype::bf16 ? share.bf16 : read.dtype == Dtype::f16 ? share.f16 : share.f32;
  if (class_of(node.op) == OpClass::scan && rows)
    reached = std::min(reached, of_one_block * static_cast<double>(read.elements() / read.shape.back()));
  return reached;
}

double indexing_nanoseconds(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::concatenate:
      return concatenation;
    case Op::gather: {
      const auto& sizes = node.attributes.get<std::vector<int64_t>>("sizes");
      return !sizes.empty() && sizes.back() >= block ? block_copy : lookup;
    }
    case Op::gather_axis:
      return lookup_along;
    case Op::masked_scatter:
      return scattered;
    case Op::search_sorted:
      return 2 *
             std::log2(static_cast<double>(std::max<int64_t>(2, graph.type(node.operands[0]).elements())));
    default:
      return 0.4;
  }
}

double barrier_nanoseconds(const Node& node, double length) {
  switch (node.op) {
    case Op::sort:
    case Op::arg_sort:
      return compared * std::log2(std::max(2.0, length));
    case Op::partition:
    case Op::arg_partition:
      return partitioned;
    case Op::random_bits:
      return random_word;
    case Op::fft:
      return butterfly * std::log2(std::max(2.0, length));
    default:
      return barrier_reason(node.op) == barrier_reason(Op::inverse) ? unknown_op * length : unknown_op;
  }
}

double work_nanoseconds(const Graph& graph, const Node& node) {
  const TensorType& read = graph.type(node.operands.empty() ? node.results[0] : node.operands[0]);
  const TensorType& made = graph.type(node.results[0]);
  auto reads = static_cast<double>(read.elements()), makes = static_cast<double>(made.elements());
  double length = read.rank() == 0 ? 1 : static_cast<double>(read.shape.back());
  switch (class_of(node.op)) {
    case OpClass::elementwise: {
      double each = elementwise(node.op).of(read.dtype);
      for (ValueId v : node.operands)
        if (is_strided(graph, v)) each += strided_operand.of(read.dtype);
      return makes * each;
    }
    case OpClass::reduction:
      return reads * reduction_nanoseconds(graph, node);
    case OpClass::scan:
      return reads * (node.op == Op::logcumsumexp ? 40 : scan.of(read.dtype));
    case OpClass::composite:
      return reads * composite(node.op).of(read.dtype);
    case OpClass::indexing:
      if (node.op == Op::scatter || node.op == Op::scatter_axis)
        return makes * block_copy +
               static_cast<double>(graph.type(node.operands.back()).elements()) * scattered;
      return makes * indexing_nanoseconds(graph, node);
    case OpClass::barrier:
      return std::max(reads, makes) * barrier_nanoseconds(node, length);
    default:
      return 0;
  }
}

}  // namespace

bool may_donate(const Graph& graph, const Uses& uses, NodeId id) {
  const Node& node = graph.nodes[id];
  if (class_of(node.op) != OpClass::elementwise) return false;
  return std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId v) {
    const auto* from = graph.producer(v);
    bool owned = from && class_of(from->op) != OpClass::view && class_of(from->op) != OpClass::source;
    return owned && !uses.is_output[v] && uses.readers[v].back() == id &&
           bytes_of(graph.type(v)) == bytes_of(graph.type(node.results[0]));
  });
}

double mlx_seconds(const Graph& graph, const Node& node, bool fresh, const Target& target) {
  const MlxSpeed& mlx = target.mlx;
  OpClass op_class = class_of(node.op);
  if (op_class == OpClass::source || node.results.empty()) return 0;
  if (op_class == OpClass::view) return mlx.op_seconds / 2;
  double made = 0, moved = 0;
  for (ValueId v : node.results)
    made += bytes_of(graph.type(v));
  moved = made;
  for (ValueId v : node.operands)
    moved += std::min(bytes_of(graph.type(v)), std::max(made, touched_bytes(graph, node, v)));
  double memory = moved / (mlx.bytes_per_second * (target.capability > 0 ? share_on_gpu(graph, node) : 1));
  if (mlx.scalar && moved < static_cast<double>(target.l3_bytes) / 2) memory = 0;
  double work = mlx.scalar ? work_nanoseconds(graph, node) * 1e-9 : 0;
  if (op_class == OpClass::gemm) work += contraction_flops(graph, node) / mlx.gemm_flops_per_second;
  double faults = fresh && made > static_cast<double>(mlx.kept_bytes) ? made * mlx.fault_seconds_per_byte : 0;
  return mlx.op_seconds + std::max(memory, work) + faults;
}

}  // namespace autoperfect
