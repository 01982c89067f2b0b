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

// The pages of an arena on the GPU, between two zones.
struct Place {
  DeviceAddress base = 0;
  Arena arena;
  char* host = nullptr;  // the pages in the file
  WorkerReport::Region region = WorkerReport::nowhere;
  int64_t buffer = 0;

  DeviceAddress address() const { return base + static_cast<DeviceAddress>(zone + arena.data); }
};

int64_t bytes_of(const std::vector<Arena>& arenas) {
  int64_t bytes = 0;
  for (const auto& arena : arenas)
    bytes += arena.size + 2 * zone;
  return bytes;
}

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
    auto memory = device_->allocate(most_bytes(**kernel));
    if (!memory) return memory.errors();
    memory_ = *memory;
    Status status = Success{};
    for (const auto& run : job_.runs) {
      ++report_->runs_begun;
      status = run_one(**kernel, run);
      if (!status || report_->fault_region != WorkerReport::nowhere) break;
      ++report_->runs_done;
    }
    device_->release(memory_);
    return status;
  }

 private:
  int64_t dynamic_size(const JobRun& run) const {
    const auto& dims = job_.families[static_cast<size_t>(run.family)].dims;
    return dims.empty() ? 0 : dims[0];
  }

  int64_t most_bytes(const DeviceKernel& kernel) const {
    int64_t most = 0;
    for (const auto& run : job_.runs) {
      const auto& family = job_.families[static_cast<size_t>(run.family)];
      int64_t partial = kernel.partial_bytes(dynamic_size(run)).value_or(0) + page_bytes + 2 * zone;
      most = std::max(most, bytes_of(family.inputs[run.placement]) + bytes_of(run.outputs) + partial);
    }
    return most;
  }

  Result<std::vector<Place>> place(
      const std::vector<Arena>& arenas, char* file, WorkerReport::Region region) {
    std::vector<Place> places;
    for (const auto& arena : arenas) {
      Place place{
          next_, arena, file ? file + arena.offset : nullptr, region, static_cast<int64_t>(places.size())};
      next_ += static_cast<DeviceAddress>(arena.size + 2 * zone);
      if (auto status = device_->fill(place.base, canary, arena.size + 2 * zone); !status)
        return status.errors();
      if (file) {
        auto status = device_->write(place.base + zone, place.host, arena.size);
        if (!status) return status.errors();
      }
      places.push_back(place);
    }
    return places;
  }

  Status run_one(const DeviceKernel& kernel, const JobRun& run) {
    next_ = memory_;
    const auto& family = job_.families[static_cast<size_t>(run.family)];
    Arena between;
    between.bytes = kernel.partial_bytes(dynamic_size(run)).value_or(0);
    between.size = (between.bytes + page_bytes - 1) / page_bytes * page_bytes;
    auto in = place(family.inputs[run.placement], inputs_, WorkerReport::input);
    if (!in) return in.errors();
    auto out = place(run.outputs, outputs_, WorkerReport::output);
    if (!out) return out.errors();
    auto partial = place({between}, nullptr, WorkerReport::partials);
    if (!partial) return partial.errors();
    auto poisoned = device_->fill(partial->at(0).address(), static_cast<int>(run.poison), between.bytes);
    if (!poisoned) return poisoned;
    std::vector<DeviceAddress> from, to;
    for (const auto& place : *in)
      from.push_back(place.address());
    for (const auto& place : *out)
      to.push_back(place.address());
    auto status = kernel.run(from, to, partial->at(0).address(), dynamic_size(run));
    if (status) status = device_->synchronize();
    if (!status) return status;
    for (const auto* places : {&*in, &*out, &*partial})
      for (const auto& place : *places)
        if (auto read = take(place); !read || report_->fault_region != WorkerReport::nowhere) return read;
    return Success{};
  }

  // What lies there now: zones and inputs as they were, outputs into their file, which the parent judges.
  Status take(const Place& place) {
    found_.resize(static_cast<size_t>(place.arena.size + 2 * zone));
    auto read = device_->read(found_.data(), place.base, static_cast<int64_t>(found_.size()));
    if (!read) return read;
    const char* pages = found_.data() + zone;
    const int64_t end = static_cast<int64_t>(found_.size());
    for (int64_t i = 0; i < end; ++i) {
      if (i == zone) i += place.region == WorkerReport::partials ? place.arena.bytes : place.arena.size;
      if (i < end && found_[static_cast<size_t>(i)] != static_cast<char>(canary))
        return note(place, i - zone - place.arena.data);
    }
    if (place.region == WorkerReport::output)
      std::memcpy(place.host, pages, static_cast<size_t>(place.arena.size));
    if (place.region != WorkerReport::input) return Success{};
    for (int64_t i = 0; i < place.arena.size; ++i)
      if (pages[i] != place.host[i]) return note(place, i - place.arena.data);
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
  DeviceAddress memory_ = 0, next_ = 0;
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
    char byte = 1;
    if (send(socket, &byte, 1, MSG_NOSIGNAL) != 1 || !usable) return 0;
  }
}

}  // namespace autoperfect
