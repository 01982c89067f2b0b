// A matrix product with what is computed before and after it: blocks of rows and columns, whose operands are
// packed into scratch block by block along k (the operations on them applied while packing), multiplied in
// register tiles, and finished (the operations on the product applied) while the block is in cache.
#pragma once

#include <optional>

#include "generate/schedule/extract.h"
#include "generate/schedule/nest.h"
#include "generate/schedule/writer.h"
#include "ir/kernel.h"

namespace autoperfect::schedule {

// Numbers of register tiles along rows and columns, and elements along k, of one block.
struct Blocking {
  int64_t row_tiles = 8, column_tiles = 8, depth = 256;
  std::string text() const;
};

struct Contraction {
  KernelValueId value = -1;         // the product
  std::vector<Group> groups;        // of the whole kernel
  std::vector<int> batch, outer_k;  // groups looped over around blocks, and around k
  int rows = -1, columns = -1, k = -1;
  int a = 0, b = 1;  // which operand varies over rows, which over columns
};

// As the prelude has them.
int64_t rows_of_tile(int lanes);
int64_t columns_of_tile(int lanes);

// None when the kernel is no such product, or one with a single row, which is better read once than packed.
std::optional<Contraction> find_contraction(const Kernel& kernel);

std::vector<Blocking> blockings(const Contraction& contraction, int lanes, int threads);

std::optional<Written> write_contraction(
    const Kernel& kernel, const Contraction& contraction, const Blocking& blocking, int lanes);

}  // namespace autoperfect::schedule
