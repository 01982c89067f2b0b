// How the loops of a nest are spread over the threads of a GPU: what measurement decides between.
#pragma once

#include <string>
#include <vector>

#include "cost/target.h"
#include "generate/schedule/nest.h"
#include "generate/schedule/passes.h"
#include "ir/kernel.h"

namespace autoperfect::schedule::cuda {

// elements: a thread a pack. rows: some threads a row. columns: threads side by side along the lanes, and one
// below the other along what is reduced. tiles: squares turned in shared memory.
enum class Kind { elements, rows, columns, tiles };

struct Mapping {
  Kind kind = Kind::elements;
  int pack = 1;        // neighbouring elements a thread takes at once
  int threads = 256;   // of a block
  int lanes = 1;       // rows: threads of a row; columns: threads side by side
  int kept = 0;        // rows: packs of a row that stay in registers between sweeps; 0: read again
  int steps = 1;       // packs in flight in one thread
  int64_t slices = 1;  // blocks that share a unit's sweep, each with a partial result
  bool once = false;   // what is moved passes by the caches
  // Of scans across memory: a warp goes down each pack of columns, `steps` rows a thread, and scans as one.
  bool tall = false;
  // Of rows of any length: packs begin where this access is aligned, and the ends go one by one.
  int aligned_to = -1;
  bool online = false;  // sums of exponentials are found with the largest (online.h)
  bool pairs = false;   // two neighbours of a half dtype in one word are computed at once
  // Of rows that registers do not hold: what later sweeps read again lies in memory of the block.
  bool in_shared = false;
  bool of_scans = false;  // sums are what scans come to, which begin with -0
  std::string text() const;
};

// The nest as the CPU's schedules find it, with loops that suit a GPU: a reduction over everything is a
// single row.
Nest for_gpu(Nest nest);

// Best guess first.
std::vector<Mapping> mappings(const Kernel& kernel, const Nest& nest, const Target& target);
std::vector<Mapping> tile_mappings(const Kernel& kernel, const Nest& nest);  // of a nest of find_tiles()

// Whether the access moves whole packs along the lanes.
bool moves_packs(
    const Kernel& kernel, const Nest& nest, const Passes& passes, const Access& access, int pack);

// The same where packs begin where another access is aligned.
bool moves_packs_as(const Nest& nest, const Access& access, const Access& other, int pack);

// Whether all that varies along the lanes can be computed by pairs.
bool computes_pairs(const Kernel& kernel, const Nest& nest, const Passes& passes, int pack);

// Per value: of an exponential in f32 a relative error of 2^-16 is lost in what is rounded later, because all
// that is made of it are sums, products and quotients, and all the kernel gives are half dtypes.
std::vector<bool> coarse_values(const Kernel& kernel);

// Reductions all in the first sweep, whose partial results can be combined.
bool can_slice(const Kernel& kernel, const Passes& passes);

// What a thread of a row goes through: packs of all inner groups. With the dynamic axis as first seen.
int64_t packs_of_row(const Nest& nest, int pack);

}  // namespace autoperfect::schedule::cuda
