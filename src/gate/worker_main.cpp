// autoperfect-worker: runs one candidate on the inputs it is given, in a process that may do nothing else. It
// decides nothing: whatever it says, the parent looks at the numbers.
//   autoperfect-worker <descriptor of the inputs> <descriptor of the outputs>    job on stdin (gate/job.h)
// Prints what isolation it has, then loads the kernel. Exit status: 0 ran, 2 misuse, 3 the reason is on
// stderr.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

#include "compile/cpu/compile.h"
#include "compile/cpu/launch.h"
#include "gate/guarded_memory.h"
#include "gate/job.h"
#include "gate/sandbox.h"

namespace autoperfect {
namespace {

std::string read_stdin() {
  std::string text;
  char buffer[1 << 16];
  for (ssize_t n; (n = read(0, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

// A run with every pointer in place, so that nothing but the kernel runs in between.
struct PreparedRun {
  const JobRun* run;
  const JobFamily* family;
  std::vector<const void*> in;
  std::vector<void*> out;
};

class Worker {
 public:
  Worker(Job job, int input_file, int output_file)
      : job_(std::move(job)), input_file_(input_file), output_file_(output_file) {
    void* page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, output_file, 0);
    if (page == MAP_FAILED) throw std::runtime_error("the output file cannot be mapped");
    report_ = static_cast<WorkerReport*>(page);
  }

  void load() {
    auto loaded = load_cpu(job_.binary, job_.launch);
    if (!loaded) throw std::runtime_error(loaded.errors().at(0).message);
    kernel_ = *loaded;
  }

  void map_memory() {
    int64_t most_chunks = 1;
    for (auto& run : job_.runs) {
      PreparedRun prepared{&run, &job_.families.at(static_cast<size_t>(run.family)), {}, {}};
      prepared.in = inputs_of(run);
      int64_t buffer = 0;
      for (auto& arena : run.outputs) {
        prepared.out.push_back(
            GuardedMemory::map_file(output_file_, arena, true, WorkerReport::output, buffer++));
      }
      runs_.push_back(std::move(prepared));
      most_chunks = std::max(most_chunks, static_cast<int64_t>(run.chunks.size()));
    }
    scratch_ = GuardedMemory::allocate(job_.launch.scratch_bytes, WorkerReport::scratch);
    partial_bytes_ = partial_stride(job_.launch) * most_chunks;
    partials_ = GuardedMemory::allocate(partial_bytes_, WorkerReport::partials);
    GuardedMemory::watch_faults(report_);
  }

  void run_all() {
    for (auto& prepared : runs_) {
      ++report_->runs_begun;
      run_one(prepared);
      ++report_->runs_done;
    }
  }

 private:
  const std::vector<const void*>& inputs_of(const JobRun& run) {
    auto [place, is_new] = inputs_.try_emplace({run.family, run.placement});
    if (is_new) {
      int64_t buffer = 0;
      for (auto& arena : job_.families[static_cast<size_t>(run.family)].inputs[run.placement]) {
        place->second.push_back(
            GuardedMemory::map_file(input_file_, arena, false, WorkerReport::input, buffer++));
      }
    }
    return place->second;
  }

  void run_one(const PreparedRun& prepared) {
    const JobRun& run = *prepared.run;
    const long* dims = prepared.family->dims.data();
    int64_t stride = partial_stride(job_.launch);
    int poison = static_cast<int>(run.poison);
    if (partials_) std::memset(partials_, poison, static_cast<size_t>(partial_bytes_));
    for (auto& chunk : run.chunks) {
      if (scratch_) std::memset(scratch_, poison, static_cast<size_t>(job_.launch.scratch_bytes));
      char* partial = partials_ ? partials_ + chunk.index * stride : nullptr;
      kernel_->kernel(
          prepared.in.data(), prepared.out.data(), scratch_, partial, dims, chunk.begin, chunk.end);
    }
    if (partials_) {
      kernel_->finish(
          prepared.in.data(), prepared.out.data(), partials_, static_cast<long>(run.chunks.size()), dims);
    }
  }

  Job job_;
  int input_file_, output_file_;
  WorkerReport* report_ = nullptr;
  std::shared_ptr<LoadedKernel> kernel_;
  std::map<std::pair<int64_t, int64_t>, std::vector<const void*>> inputs_;
  std::vector<PreparedRun> runs_;
  char* scratch_ = nullptr;
  char* partials_ = nullptr;
  int64_t partial_bytes_ = 0;
};

int run_worker(int input_file, int output_file) {
  drop_privileges();
  auto job = decode(read_stdin());
  if (!job) throw std::runtime_error("the job cannot be read");
  Worker worker(std::move(*job), input_file, output_file);
  bool has_seccomp = restrict_system_calls(Phase::loading);
  dprintf(1, "process, rlimits, guard pages%s\n", has_seccomp ? ", seccomp" : "");
  worker.load();
  worker.map_memory();
  if (has_seccomp && !restrict_system_calls(Phase::running)) throw std::runtime_error("seccomp is refused");
  worker.run_all();
  // No destructor and no handler of the candidate's runs any more.
  _exit(0);
}

}  // namespace
}  // namespace autoperfect

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    return autoperfect::run_worker(std::atoi(argv[1]), std::atoi(argv[2]));
  } catch (const std::exception& error) {
    dprintf(2, "%s\n", error.what());
    _exit(3);
  }
}
