// Which runs a candidate has to make, and where their data lie.
#pragma once

#include <vector>

#include "gate/families.h"
#include "gate/job.h"

namespace autoperfect {

// Every family is run three times, with other families in between (A, B, A), each time over memory poisoned
// anew:
//   pass 0: in one piece (with partial results: in the pieces the runtime makes), buffers ending with their
//   pages; pass 1: families in reverse order, in uneven pieces, last piece first, buffers beginning with
//   their pages, and outputs that may take the memory of an input in it; pass 2: as pass 0, over another
//   poison.
// On a GPU nothing is cut and no memory is taken; buffers begin with their pages in passes 0 and 2, where
// they are aligned, and end with them in pass 1, where every other family is aligned no more than is
// promised. Nothing is mapped behind them in pass 1, before them in pass 2.
constexpr int passes = 3;
constexpr int aliased_pass = 1;

// How a build is run.
struct BuildForm {
  bool watched = false;
  size_t arms = 0;            // of a counted build
  bool empty_chunks = false;  // calls without a unit as well
  int passes = autoperfect::passes;
  int64_t alignment = 1;  // of every buffer that the candidate asks for
  bool on_gpu = false;
  SecondLaunch second = {};  // of a GPU's candidate
};

Job plan_job(
    const std::vector<InputFamily>& families,
    const Launch& launch,
    const std::string& binary,
    const BuildForm& form = {});

// The index in job.runs of a family's run in a pass.
size_t run_index(size_t families, int pass, size_t family);

}  // namespace autoperfect
