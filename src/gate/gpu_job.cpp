#include "gate/gpu_job.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <vector>

#include "gate/gpu_worker.h"
#include "support/descriptor.h"
#include "support/pass_descriptors.h"
#include "support/sandbox.h"

namespace autoperfect {
namespace {

constexpr int64_t zone = 4096;  // before and behind the pages of a buffer: must stay as they are
constexpr int canary = 0xc7;

class MappedFile {
 public:
  explicit MappedFile(int fd, int protection) {
    struct stat status {};
    if (fstat(fd, &status) != 0) return;
    size_ = static_cast<size_t>(status.st_size);
    void* memory = mmap(nullptr, size_, protection, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) data_ = static_cast<char*>(memory);
  }
  ~MappedFile() {
    if (data_) munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

// The pages of an arena on the GPU, with zones before and behind them where there is room.
struct Place {
  DeviceAddress pages = 0;
  int64_t before = 0, behind = 0;  // bytes of the zones
  Arena arena;
  char* host = nullptr;  // the pages in the file
  WorkerReport::Region region = WorkerReport::nowhere;
  int64_t buffer = 0;

  DeviceAddress address() const { return pages + static_cast<DeviceAddress>(arena.data); }
  DeviceAddress begin() const { return pages - static_cast<DeviceAddress>(before); }
  int64_t bytes() const { return before + arena.size + behind; }
};

class GpuJob {
 public:
  GpuJob(const Job& job, std::shared_ptr<CudaDevice> device, char* inputs, char* outputs)
      : job_(job),
        device_(std::move(device)),
        inputs_(inputs),
        outputs_(outputs),
        report_(reinterpret_cast<WorkerReport*>(outputs)) {}

  Status run() {
    Candidate candidate;
    candidate.launch = job_.launch;
    candidate.second = job_.second;
    auto kernel = DeviceKernel::load(device_, job_.binary, candidate);
    if (!kernel) return kernel.errors();
    auto status = map_slots(**kernel);
    for (const auto& run : job_.runs) {
      if (!status) break;
      ++report_->runs_begun;
      status = run_one(**kernel, run);
      if (!status || report_->fault_region != WorkerReport::nowhere) break;
      ++report_->runs_done;
    }
    for (const auto& slot : slots_)
      device_->unmap(slot);
    return status;
  }

 private:
  int64_t dynamic_size(const JobRun& run) const {
    const auto& dims = job_.families[static_cast<size_t>(run.family)].dims;
    return dims.empty() ? 0 : dims[0];
  }

  const std::vector<Arena>& inputs_of(const JobRun& run) const {
    return job_.families[static_cast<size_t>(run.family)].inputs[run.placement];
  }

  Arena between(const DeviceKernel& kernel, const JobRun& run) const {
    Arena arena;
    arena.bytes = kernel.partial_bytes(dynamic_size(run)).value_or(0);
    arena.size = (arena.bytes + page_bytes - 1) / page_bytes * page_bytes;
    return arena;
  }

  // One for each buffer, which every run has its own arena of; the last is for what passes between launches.
  Status map_slots(const DeviceKernel& kernel) {
    std::vector<int64_t> sizes;
    auto fit = [&](size_t slot, const Arena& arena) {
      if (slot >= sizes.size()) sizes.resize(slot + 1, 0);
      sizes[slot] = std::max(sizes[slot], arena.size);
    };
    for (const auto& run : job_.runs) {
      size_t slot = 0;
      for (const auto* arenas : {&inputs_of(run), &run.outputs})
        for (const auto& arena : *arenas)
          fit(slot++, arena);
      fit(slot++, run.reached);
      fit(slot++, between(kernel, run));
    }
    for (int64_t size : sizes) {
      auto pages = device_->map_guarded(size + 2 * zone);
      if (!pages) return pages.errors();
      slots_.push_back(*pages);
    }
    report_->guard_pages = !slots_.empty() && slots_.front().guarded;
    return Success{};
  }

  // With zones on both sides first, then up to the pages that are not there: what follows, what comes before.
  Result<Place> place(const JobRun& run, const Arena& arena, char* file, WorkerReport::Region region) {
    const auto& slot = slots_.at(next_++);
    const int64_t spare = slot.bytes - arena.size, edge = slot.guarded ? 0 : zone;
    const int64_t offset = run.placement == at_end ? spare - edge : run.again ? edge : zone;
    Place place{
        slot.begin + static_cast<DeviceAddress>(offset),
        std::min(zone, offset),
        std::min(zone, spare - offset),
        arena,
        file ? file + arena.offset : nullptr,
        region};
    auto status = device_->fill(place.begin(), canary, place.bytes());
    if (status && file) status = device_->write(place.pages, place.host, arena.size);
    if (!status) return status.errors();
    return place;
  }

  Result<std::vector<Place>> place_all(
      const JobRun& run, const std::vector<Arena>& arenas, char* file, WorkerReport::Region region) {
    std::vector<Place> places;
    for (const auto& arena : arenas) {
      auto placed = place(run, arena, file, region);
      if (!placed) return placed.errors();
      placed->buffer = static_cast<int64_t>(places.size());
      places.push_back(*placed);
    }
    return places;
  }

  Status run_one(const DeviceKernel& kernel, const JobRun& run) {
    next_ = 0;
    auto in = place_all(run, inputs_of(run), inputs_, WorkerReport::input);
    if (!in) return in.errors();
    auto out = place_all(run, run.outputs, outputs_, WorkerReport::output);
    if (!out) return out.errors();
    auto reached = place(run, run.reached, outputs_, WorkerReport::reached);
    if (!reached) return reached.errors();
    auto partial = place(run, between(kernel, run), nullptr, WorkerReport::partials);
    if (!partial) return partial.errors();
    auto poisoned = device_->fill(partial->address(), static_cast<int>(run.poison), partial->arena.bytes);
    if (!poisoned) return poisoned;
    std::vector<DeviceAddress> from, to;
    for (const auto& place : *in)
      from.push_back(place.address());
    for (const auto& place : *out)
      to.push_back(place.address());
    // A counted build has the parameter even where it has no arms.
    const DeviceAddress arms = job_.watched ? reached->address() : 0;
    auto status = kernel.run(from, to, partial->address(), dynamic_size(run), {}, arms);
    if (status) status = device_->synchronize();
    if (!status) return status;
    std::vector<Place> all = std::move(*in);
    all.insert(all.end(), out->begin(), out->end());
    all.insert(all.end(), {*reached, *partial});
    for (const auto& place : all)
      if (auto read = take(place); !read || report_->fault_region != WorkerReport::nowhere) return read;
    return Success{};
  }

  // What lies there now: zones and inputs as they were, the rest into its file, which the parent judges.
  Status take(const Place& place) {
    const auto& arena = place.arena;
    found_.resize(static_cast<size_t>(place.bytes()));
    auto read = device_->read(found_.data(), place.begin(), place.bytes());
    if (!read) return read;
    const char* pages = found_.data() + place.before;
    const int64_t own = place.region == WorkerReport::partials ? arena.bytes : arena.size;
    for (int64_t i = -place.before; i < arena.size + place.behind; ++i) {
      if (i == 0) i += own;
      if (i < arena.size + place.behind && pages[i] != static_cast<char>(canary))
        return note(place, i - arena.data);
    }
    if (!place.host) return Success{};
    const bool is_input = place.region == WorkerReport::input;
    for (int64_t i = 0; i < arena.size; ++i) {
      if (i == arena.data && !is_input) i += arena.bytes;
      if (i < arena.size && pages[i] != place.host[i]) return note(place, i - arena.data);
    }
    if (!is_input) std::memcpy(place.host, pages, static_cast<size_t>(arena.size));
    return Success{};
  }

  Status note(const Place& place, int64_t offset) {
    report_->fault_region = place.region;
    report_->fault_buffer = place.buffer;
    report_->fault_offset = offset;
    report_->fault_bytes = place.arena.bytes;
    report_->fault_writes = 1;
    return Success{};
  }

  const Job& job_;
  std::shared_ptr<CudaDevice> device_;
  char *inputs_, *outputs_;
  WorkerReport* report_;
  std::vector<GuardedPages> slots_;
  size_t next_ = 0;
  std::vector<char> found_;
};

}  // namespace

bool run_gpu_job(const Job& job, int input_file, int output_file) {
  MappedFile inputs(input_file, PROT_READ), outputs(output_file, PROT_READ | PROT_WRITE);
  if (!inputs.data() || !outputs.data()) return false;
  auto& device = CudaDevice::shared();
  auto status = device ? GpuJob(job, *device, inputs.data(), outputs.data()).run() : Status(device.errors());
  if (status) return true;
  auto* report = reinterpret_cast<WorkerReport*>(outputs.data());
  report->unable = !device;
  std::string said = status.errors().at(0).message;
  std::strncpy(report->behaviour, said.c_str(), sizeof report->behaviour - 1);
  return false;
}

int serve_gpu_jobs(int socket, pid_t parent) {
  follow_parent(parent, SIGKILL);
  for (;;) {
    std::array<int, gpu_job_files> files;
    if (!DescriptorMessage<gpu_job_files>().receive(socket, files)) return 0;
    Descriptor job_file(files[0]), inputs(files[1]), outputs(files[2]);
    MappedFile text(job_file.get(), PROT_READ);
    if (!text.data()) return 3;
    auto job = decode(std::string(text.data(), text.size()));
    bool usable = job && run_gpu_job(*job, inputs.get(), outputs.get());
    char byte = usable;  // 0: it ends, and no other job is to be sent here
    if (send(socket, &byte, 1, MSG_NOSIGNAL) != 1 || !usable) return 0;
  }
}

}  // namespace autoperfect
