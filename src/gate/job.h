// What the parent asks of the helper process, and what it leaves behind. The job comes on the helper's stdin;
// inputs lie in one sealed memory file, outputs in another that both processes map. The parent alone judges
// what it finds there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generate/candidate.h"

namespace autoperfect {

constexpr int64_t page_bytes = 4096;

// Whole pages of a memory file, mapped by the helper between two inaccessible ones. The data begin or end
// with the pages.
struct Arena {
  int64_t offset = 0;  // in the file
  int64_t size = 0;    // of the pages
  int64_t data = 0;    // where in the pages the data begin
  int64_t bytes = 0;   // of the data
};

enum Placement : int64_t { at_start = 0, at_end = 1 };

struct JobFamily {
  std::vector<int64_t> dims;     // of the dynamic axes
  std::vector<Arena> inputs[2];  // by placement
};

struct JobChunk {
  int64_t index = 0, begin = 0, end = 0;
};

// One call of the kernel on all its units, chunk after chunk in the order given, then finish() where there is
// one.
struct JobRun {
  int64_t family = 0;
  int64_t placement = at_end;
  int64_t poison = 0;  // byte that outputs, scratch and partial results are filled with before
  int64_t again = 0;   // each chunk is run once more on what its scratch was left as, as in real life
  std::vector<JobChunk> chunks;
  std::vector<Arena> outputs;    // and temporaries
  std::vector<int64_t> aliases;  // per output: the input that lies in its arena instead, or -1
  Arena reached;                 // of a counted build: a byte for each arm
};

// What the helper is to give up, and what it must be able to.
struct JobIsolation {
  int64_t parent = 0;  // process it follows into death
  int64_t required = 0;
  int64_t seccomp = 1, landlock = 1, guarded_state = 1;
};

struct Job {
  std::string binary;
  int64_t watched = 0;  // it calls watch.cpp before each access
  int64_t arms = 0;     // above 0: its functions have one more parameter, where they note the arms reached
  JobIsolation isolation;
  Launch launch;
  // Above 0: the binary is a cubin, launched once a run on the first GPU; chunks are not looked at.
  int64_t on_gpu = 0;
  SecondLaunch second;
  std::vector<JobFamily> families;
  std::vector<JobRun> runs;
  int64_t input_file_bytes = 0;
  int64_t output_file_bytes = 0;

  // Whether all passes must give the same bits: not where the way work is cut decides how sums are rounded.
  bool passes_agree() const { return launch.partial_bytes == 0 && !on_gpu; }
};

std::string encode(const Job& job);
std::optional<Job> decode(const std::string& bytes);

// The first page of the output file: progress, and where it faulted. The candidate could write here as well,
// so it serves messages only.
struct WorkerReport {
  enum Region : int64_t {
    nowhere = 0,
    input,
    output,
    scratch,
    partials,
    reached,
    stack,
    table,
    argument,
    state
  };
  int64_t runs_begun = 0, runs_done = 0;
  int64_t fault_region = nowhere;
  int64_t fault_buffer = 0;  // which input or output
  int64_t fault_offset = 0;  // bytes from the beginning of its data
  int64_t fault_bytes = 0;   // size of its data
  int64_t fault_writes = 0;
  int64_t level = 0;    // Isolation
  int64_t watched = 0;  // 1: an access found by a watched build, 2: undefined behaviour, 3: rounding changed
  int64_t line = 0;     // of the source, of undefined behaviour
  int64_t unable = 0;   // above 0: this machine, not the candidate, is why nothing ran
  int64_t guard_pages = 0;  // of a GPU: whether what lies past a buffer's end was mapped nowhere
  char behaviour[64] = {};  // "a shift by more bits than there are"; of a GPU, what its driver said
};

}  // namespace autoperfect
