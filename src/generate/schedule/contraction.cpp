#include "generate/schedule/contraction.h"

#include <algorithm>

#include "generate/schedule/access.h"
#include "generate/schedule/passes.h"

namespace autoperfect::schedule {
namespace {

bool is_float(Dtype dtype) {
  return dtype == Dtype::f32 || is_half(dtype);
}

// The only value that is no elementwise operation; -1 when there is another, or none.
KernelValueId find_product(const Kernel& kernel) {
  KernelValueId product = -1;
  for (size_t v = 0; v < kernel.values.size(); ++v) {
    auto& value = kernel.values[v];
    if (value.op == Op::matmul && product < 0)
      product = static_cast<KernelValueId>(v);
    else if (value.scanned >= 0 || !value.reduced.empty())
      return -1;
  }
  if (product < 0) return -1;
  bool floats = is_float(kernel.values[product].dtype);
  for (int i : {0, 1})
    floats = floats && is_float(operand_dtype(kernel, kernel.values[product], i));
  return floats ? product : -1;
}

class ContractionFinder {
 public:
  ContractionFinder(const Kernel& kernel, const Nest& nest) : kernel_(kernel), nest_(nest) {}

  std::optional<Contraction> run() {
    found_.value = find_product(kernel_);
    if (found_.value < 0) return std::nullopt;
    found_.groups = nest_.groups;
    find_columns();
    if (found_.columns < 0 || !find_rows() || !find_depth() || !stored_by_blocks()) return std::nullopt;
    return found_;
  }

 private:
  bool in_operand(int group, int i) const {
    auto axes = axes_in(kernel_, kernel_.values[found_.value].operands[i]);
    AxisId axis = nest_.groups[group].axes.back();
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }
  bool is_parallel(int group) const { return !nest_.groups[group].swept; }
  void find_columns();
  bool find_rows();
  bool find_depth();
  bool stored_by_blocks() const;

  const Kernel& kernel_;
  const Nest& nest_;
  Contraction found_;
};

// The group along which the largest output is contiguous, if only one operand varies over it.
void ContractionFinder::find_columns() {
  int64_t most = -1;
  for (auto& value : kernel_.values) {
    if (value.output < 0) continue;
    auto& store = nest_.accesses[nest_.store_of(value)];
    int64_t bytes = kernel_.buffers[value.output].type.bytes();
    for (size_t g = 0; g < nest_.groups.size(); ++g) {
      int group = static_cast<int>(g);
      if (!store.strides[g].is(1) || !is_parallel(group) || bytes <= most) continue;
      if (in_operand(group, 0) == in_operand(group, 1)) continue;
      most = bytes;
      found_.columns = group;
    }
  }
  if (found_.columns < 0) return;
  found_.b = in_operand(found_.columns, 1) ? 1 : 0;
  found_.a = 1 - found_.b;
}

// The largest group that only the other operand varies over; the rest of them are batches.
bool ContractionFinder::find_rows() {
  for (size_t g = 0; g < nest_.groups.size(); ++g) {
    int group = static_cast<int>(g);
    bool row = is_parallel(group) && in_operand(group, found_.a) && !in_operand(group, found_.b);
    if (row && (found_.rows < 0 || nest_.groups[g].seen_size > nest_.groups[found_.rows].seen_size))
      found_.rows = group;
  }
  for (size_t g = 0; g < nest_.groups.size(); ++g)
    if (int group = static_cast<int>(g);
        is_parallel(group) && group != found_.rows && group != found_.columns)
      found_.batch.push_back(group);
  return found_.rows >= 0 && nest_.groups[found_.rows].seen_size > 1;
}

bool ContractionFinder::find_depth() {
  for (size_t g = 0; g < nest_.groups.size(); ++g)
    if (!is_parallel(static_cast<int>(g))) found_.outer_k.push_back(static_cast<int>(g));
  if (found_.outer_k.empty()) return false;
  found_.k = found_.outer_k.back();
  found_.outer_k.pop_back();
  return std::none_of(
      nest_.groups.begin(), nest_.groups.end(), [](const Group& g) { return g.swept && g.size.is(0); });
}

// Every output is computed where the product is, and nowhere twice.
bool ContractionFinder::stored_by_blocks() const {
  auto& product = kernel_.values[found_.value];
  return std::all_of(kernel_.values.begin(), kernel_.values.end(), [&](const KernelValue& value) {
    return value.output < 0 || value.axes == product.axes;
  });
}

int64_t divided_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

int64_t rows_of_tile(int lanes) {
#if defined(__aarch64__)
  return 12;
#else
  return lanes == 16 ? 12 : 6;
#endif
}

int64_t columns_of_tile(int lanes) {
  return 2 * lanes;
}

std::optional<Contraction> find_contraction(const Kernel& kernel) {
  auto nest = find_groups(kernel);
  if (!nest) return std::nullopt;
  return ContractionFinder(kernel, *nest).run();
}

std::string Blocking::text() const {
  return "tiles=" + std::to_string(row_tiles) + "x" + std::to_string(column_tiles) +
         " depth=" + std::to_string(depth);
}

// Blocks as large as the cache likes, unless that leaves threads without work.
std::vector<Blocking> blockings(const Contraction& contraction, int lanes, int threads) {
  auto& groups = contraction.groups;
  int64_t row_tiles = divided_up(groups[contraction.rows].seen_size, rows_of_tile(lanes));
  int64_t column_tiles = divided_up(groups[contraction.columns].seen_size, columns_of_tile(lanes));
  int64_t batches = 1;
  for (int g : contraction.batch)
    batches *= groups[g].seen_size;
  std::vector<Blocking> found;
  for (Blocking b : {Blocking{12, 8, 256}, Blocking{8, 16, 256}}) {
    b.depth = std::min(b.depth, divided_up(groups[contraction.k].seen_size, 16) * 16);
    b.row_tiles = std::min(b.row_tiles, row_tiles);
    b.column_tiles = std::min(b.column_tiles, column_tiles);
    auto blocks = [&] {
      return batches * divided_up(row_tiles, b.row_tiles) * divided_up(column_tiles, b.column_tiles);
    };
    while (blocks() < 4 * threads && b.row_tiles * b.column_tiles > 8) {
      bool tall = b.row_tiles * rows_of_tile(lanes) > b.column_tiles * columns_of_tile(lanes);
      auto& longer = tall ? b.row_tiles : b.column_tiles;
      longer = divided_up(longer, 2);
    }
    found.push_back(b);
  }
  return found;
}

}  // namespace autoperfect::schedule
