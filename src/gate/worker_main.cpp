// autoperfect-worker: the program in whose processes nothing trusted happens.
//   autoperfect-worker <descriptor of the inputs> <descriptor of the outputs>    job on stdin (gate/job.h)
//     Runs one candidate on the inputs it is given. It decides nothing: whatever it says, the parent looks at
//     the numbers. Prints what isolation it has, then loads the kernel. Exit status: 0 ran, 2 misuse, 3 the
//     reason is on stderr, 4 a watched build found something (in the report).
//   autoperfect-worker gpu <parent> <socket>
//     Runs candidates on the GPU, one after the other (gate/gpu_worker.h).
//   autoperfect-worker compile ...    runs a compiler shut in (compile/cpu/compiler_child.h)
//   autoperfect-worker compile-cuda ...    is one (compile/cuda/compile.h)
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

#include "compile/cpu/compile.h"
#include "compile/cpu/compiler_child.h"
#include "compile/cpu/launch.h"
#include "compile/cuda/compile.h"
#include "gate/gpu_worker.h"
#include "gate/guarded_memory.h"
#include "gate/job.h"
#include "gate/watch.h"
#include "support/isolation.h"
#include "support/sandbox.h"

namespace autoperfect {
namespace {

constexpr int64_t stack_bytes = int64_t{1} << 20;  // a kernel may run on the thread of anybody
constexpr size_t painted_stack_bytes = size_t{128} << 10;

std::string read_stdin() {
  std::string text;
  char buffer[1 << 16];
  for (ssize_t n; (n = read(0, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

// What a local variable holds that nobody set: another byte in each pass.
[[gnu::noinline]] void paint_stack(int poison) {
  char below[painted_stack_bytes];
  std::memset(below, poison, sizeof below);
  asm volatile("" : : "r"(below) : "memory");
}

// How the processor rounds and what it does with subnormal numbers: the host computes on after a kernel.
uint32_t rounding_control() {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr() & 0xffc0;
#else
  return 0;
#endif
}

// A run with every pointer in place, so that nothing but the kernel runs in between.
struct PreparedRun {
  const JobRun* run;
  const JobFamily* family;
  std::vector<const void*> in;
  std::vector<void*> out;
  char* reached = nullptr;
};

class Worker {
 public:
  Worker(Job job, int input_file, int output_file)
      : job_(std::move(job)), input_file_(input_file), output_file_(output_file) {
    void* page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, output_file, 0);
    if (page == MAP_FAILED) throw std::runtime_error("the output file cannot be mapped");
    report_ = static_cast<WorkerReport*>(page);
  }

  // Before anything of the candidate is touched.
  void shut_in() {
    follow_parent(static_cast<pid_t>(job_.isolation.parent), SIGKILL);
    limit_resources({0, stack_bytes, 0, 32, 0});
    const bool has_landlock = job_.isolation.landlock && restrict_files({});
    has_seccomp_ = job_.isolation.seccomp && restrict_system_calls(Phase::loading);
    const Isolation level = !has_seccomp_   ? Isolation::process
                            : !has_landlock ? Isolation::seccomp
                                            : Isolation::landlock;
    report_->level = static_cast<int64_t>(level);
    dprintf(
        1,
        "process, rlimits, guard pages%s%s\n",
        has_seccomp_ ? ", seccomp" : "",
        has_landlock ? ", landlock" : "");
    if (report_->level < job_.isolation.required)
      throw std::runtime_error("the isolation required is not to be had");
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
      for (size_t k = 0; k < run.aliases.size(); ++k)
        if (run.aliases[k] >= 0) prepared.in.at(static_cast<size_t>(run.aliases[k])) = prepared.out.at(k);
      if (job_.arms > 0)
        prepared.reached = GuardedMemory::map_file(output_file_, run.reached, true, WorkerReport::reached, 0);
      runs_.push_back(std::move(prepared));
      most_chunks = std::max(most_chunks, static_cast<int64_t>(run.chunks.size()));
    }
    scratch_ = GuardedMemory::allocate(job_.launch.scratch_bytes, WorkerReport::scratch);
    partial_bytes_ = partial_stride(job_.launch) * most_chunks;
    partials_ = GuardedMemory::allocate(partial_bytes_, WorkerReport::partials);
    const auto* code = reinterpret_cast<const void*>(kernel_->kernel);
    if (job_.watched)
      Watch::begin(report_, code);
    else if (job_.isolation.guarded_state)
      GuardedMemory::remember_state(loaded_range(code, true).begin, loaded_range(code, false).end);
    GuardedMemory::watch_faults(report_);
  }

  void run_all() {
    if (has_seccomp_ && !restrict_system_calls(Phase::running))
      throw std::runtime_error("seccomp is refused");
    const auto control = rounding_control();
    for (auto& prepared : runs_) {
      ++report_->runs_begun;
      run_one(prepared);
      if (rounding_control() != control) {
        report_->watched = 3;
        _exit(4);
      }
      ++report_->runs_done;
    }
  }

 private:
  using CountedKernel =
      void (*)(const void* const*, void* const*, void*, void*, const long*, long, long, void* reached);
  using CountedFinish =
      void (*)(const void* const*, void* const*, const void*, long, const long*, void* reached);

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
      for (int64_t time = 0; time <= run.again; ++time)
        run_chunk(prepared, chunk);
    }
    if (!partials_) return;
    auto chunks = static_cast<long>(run.chunks.size());
    if (job_.watched) watch(prepared, partials_, stride * chunks, false);
    paint_stack(poison);
    if (job_.arms > 0)
      reinterpret_cast<CountedFinish>(kernel_->finish)(
          prepared.in.data(), prepared.out.data(), partials_, chunks, dims, prepared.reached);
    else
      kernel_->finish(prepared.in.data(), prepared.out.data(), partials_, chunks, dims);
  }

  void run_chunk(const PreparedRun& prepared, const JobChunk& chunk) {
    const long* dims = prepared.family->dims.data();
    char* partial = partials_ ? partials_ + chunk.index * partial_stride(job_.launch) : nullptr;
    if (job_.watched) watch(prepared, partial, job_.launch.partial_bytes, true);
    paint_stack(static_cast<int>(prepared.run->poison));
    if (job_.arms > 0)
      reinterpret_cast<CountedKernel>(kernel_->kernel)(
          prepared.in.data(),
          prepared.out.data(),
          scratch_,
          partial,
          dims,
          chunk.begin,
          chunk.end,
          prepared.reached);
    else
      kernel_->kernel(
          prepared.in.data(), prepared.out.data(), scratch_, partial, dims, chunk.begin, chunk.end);
  }

  // What one call may touch. `of_kernel`: it has scratch, and its partial result is to be written.
  void watch(const PreparedRun& prepared, const char* partial, int64_t partial_bytes, bool of_kernel) {
    Watch::forget_regions();
    auto add = [&](const void* data,
                   int64_t bytes,
                   bool writable,
                   WorkerReport::Region region,
                   size_t buffer = 0) {
      auto begin = reinterpret_cast<uintptr_t>(data);
      if (data && bytes > 0)
        Watch::add_region(
            {begin, begin + static_cast<uintptr_t>(bytes), writable, region, static_cast<int64_t>(buffer)});
    };
    const auto& arenas = prepared.family->inputs[prepared.run->placement];
    for (size_t i = 0; i < prepared.in.size(); ++i)
      add(prepared.in[i], arenas[i].bytes, false, WorkerReport::input, i);
    for (size_t i = 0; i < prepared.out.size(); ++i)
      add(prepared.out[i], prepared.run->outputs[i].bytes, true, WorkerReport::output, i);
    if (of_kernel) add(scratch_, job_.launch.scratch_bytes, true, WorkerReport::scratch);
    add(partial, partial_bytes, of_kernel, WorkerReport::partials);
    add(prepared.reached, job_.arms, true, WorkerReport::reached);
    const auto word = static_cast<int64_t>(sizeof(void*));
    add(prepared.in.data(), static_cast<int64_t>(prepared.in.size()) * word, false, WorkerReport::argument);
    add(prepared.out.data(), static_cast<int64_t>(prepared.out.size()) * word, false, WorkerReport::argument);
    add(prepared.family->dims.data(),
        static_cast<int64_t>(prepared.family->dims.size()) * word,
        false,
        WorkerReport::argument);
  }

  Job job_;
  int input_file_, output_file_;
  bool has_seccomp_ = false;
  WorkerReport* report_ = nullptr;
  std::shared_ptr<LoadedKernel> kernel_;
  std::map<std::pair<int64_t, int64_t>, std::vector<const void*>> inputs_;
  std::vector<PreparedRun> runs_;
  char* scratch_ = nullptr;
  char* partials_ = nullptr;
  int64_t partial_bytes_ = 0;
};

int run_worker(int input_file, int output_file) {
  auto job = decode(read_stdin());
  if (!job) throw std::runtime_error("the job cannot be read");
  Worker worker(std::move(*job), input_file, output_file);
  worker.shut_in();
  worker.load();
  worker.map_memory();
  worker.run_all();
  // No destructor and no handler of the candidate's runs any more.
  _exit(0);
}

}  // namespace
}  // namespace autoperfect

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], autoperfect::compiler_mode) == 0)
    return autoperfect::run_compiler(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], autoperfect::cuda_compiler_mode) == 0)
    return autoperfect::run_cuda_compiler(argc, argv);
  if (argc == 4 && std::strcmp(argv[1], autoperfect::gpu_mode) == 0)
    return autoperfect::serve_gpu_jobs(std::atoi(argv[3]), std::atoi(argv[2]));
  if (argc != 3) return 2;
  try {
    return autoperfect::run_worker(std::atoi(argv[1]), std::atoi(argv[2]));
  } catch (const std::exception& error) {
    dprintf(2, "%s\n", error.what());
    _exit(3);
  }
}
