#include "compile/cuda/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "generate/size_expression.h"
#include "support/hash.h"
#include "support/library_functions.h"

namespace autoperfect {

namespace {

// CUmemAllocationProp and CUmemAccessDesc of cuda.h.
struct MemoryLocation {
  int type = 1;  // a device
  int device = 0;
};
struct MemoryKind {
  int type = 1;  // pinned
  int handles = 0;
  MemoryLocation location;
  void* windows = nullptr;
  unsigned char flags[8] = {};
};
struct MemoryAccess {
  MemoryLocation location;
  int flags = 3;  // read and write
};

}  // namespace

// The versions that CUDA's headers name (cuMemAlloc is cuMemAlloc_v2, and so on).
struct Driver {
  int (*init)(unsigned flags) = nullptr;
  int (*version)(int*) = nullptr;
  int (*device)(int*, int ordinal) = nullptr;
  int (*device_name)(char*, int, int device) = nullptr;
  int (*attribute)(int*, int attribute, int device) = nullptr;
  int (*retain)(void** context, int device) = nullptr;
  int (*release)(int device) = nullptr;
  int (*make_current)(void* context) = nullptr;
  int (*allocate)(uint64_t*, size_t) = nullptr;
  int (*free)(uint64_t) = nullptr;
  int (*to_device)(uint64_t, const void*, size_t) = nullptr;
  int (*to_host)(void*, uint64_t, size_t) = nullptr;
  int (*fill)(uint64_t, unsigned char, size_t) = nullptr;
  int (*copy)(uint64_t to, uint64_t from, size_t) = nullptr;
  int (*synchronize)() = nullptr;
  int (*load)(void** module, const void* image) = nullptr;
  int (*unload)(void* module) = nullptr;
  int (*function)(void** function, void* module, const char* name) = nullptr;
  int (*function_attribute)(int*, int attribute, void* function) = nullptr;
  int (*set_function_attribute)(void* function, int attribute, int value) = nullptr;
  int (*launch)(
      void* function,
      unsigned grid_x,
      unsigned grid_y,
      unsigned grid_z,
      unsigned block_x,
      unsigned block_y,
      unsigned block_z,
      unsigned shared_bytes,
      void* stream,
      void** parameters,
      void** extra) = nullptr;
  int (*event_create)(void** event, unsigned flags) = nullptr;
  int (*event_destroy)(void* event) = nullptr;
  int (*event_record)(void* event, void* stream) = nullptr;
  int (*event_synchronize)(void* event) = nullptr;
  int (*elapsed)(float* milliseconds, void* start, void* end) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*granularity)(size_t*, const MemoryKind*, int option) = nullptr;
  int (*reserve)(uint64_t*, size_t, size_t alignment, uint64_t wanted, uint64_t flags) = nullptr;
  int (*unreserve)(uint64_t, size_t) = nullptr;
  int (*create)(uint64_t* handle, size_t, const MemoryKind*, uint64_t flags) = nullptr;
  int (*release_handle)(uint64_t handle) = nullptr;
  int (*map)(uint64_t, size_t, size_t offset, uint64_t handle, uint64_t flags) = nullptr;
  int (*unmap)(uint64_t, size_t) = nullptr;
  int (*set_access)(uint64_t, size_t, const MemoryAccess*, size_t count) = nullptr;
};

namespace {

// CUdevice_attribute.
constexpr int attribute_multiprocessors = 16, attribute_memory_khz = 36, attribute_memory_bits = 37,
              attribute_l2_bytes = 38, attribute_major = 75, attribute_minor = 76,
              attribute_shared_bytes = 97;

const Driver* load_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  static Driver found;
  LibraryFunctions functions(library);
  functions.find(found.init, "cuInit");
  functions.find(found.version, "cuDriverGetVersion");
  functions.find(found.device, "cuDeviceGet");
  functions.find(found.device_name, "cuDeviceGetName");
  functions.find(found.attribute, "cuDeviceGetAttribute");
  functions.find(found.retain, "cuDevicePrimaryCtxRetain");
  functions.find(found.release, "cuDevicePrimaryCtxRelease_v2");
  functions.find(found.make_current, "cuCtxSetCurrent");
  functions.find(found.allocate, "cuMemAlloc_v2");
  functions.find(found.free, "cuMemFree_v2");
  functions.find(found.to_device, "cuMemcpyHtoD_v2");
  functions.find(found.to_host, "cuMemcpyDtoH_v2");
  functions.find(found.fill, "cuMemsetD8_v2");
  functions.find(found.copy, "cuMemcpyDtoD_v2");
  functions.find(found.synchronize, "cuCtxSynchronize");
  functions.find(found.load, "cuModuleLoadData");
  functions.find(found.unload, "cuModuleUnload");
  functions.find(found.function, "cuModuleGetFunction");
  functions.find(found.function_attribute, "cuFuncGetAttribute");
  functions.find(found.set_function_attribute, "cuFuncSetAttribute");
  functions.find(found.launch, "cuLaunchKernel");
  functions.find(found.event_create, "cuEventCreate");
  functions.find(found.event_destroy, "cuEventDestroy_v2");
  functions.find(found.event_record, "cuEventRecord");
  functions.find(found.event_synchronize, "cuEventSynchronize");
  functions.find(found.elapsed, "cuEventElapsedTime");
  functions.find(found.error_name, "cuGetErrorName");
  functions.find(found.granularity, "cuMemGetAllocationGranularity");
  functions.find(found.reserve, "cuMemAddressReserve");
  functions.find(found.unreserve, "cuMemAddressFree");
  functions.find(found.create, "cuMemCreate");
  functions.find(found.release_handle, "cuMemRelease");
  functions.find(found.map, "cuMemMap");
  functions.find(found.unmap, "cuMemUnmap");
  functions.find(found.set_access, "cuMemSetAccess");
  return functions.all_found() ? &found : nullptr;
}

const Driver* find_driver() {
  static const Driver* driver = load_driver();
  return driver;
}

Diagnostic failure(const std::string& code, const std::string& message) {
  return {"device", code, message};
}

}  // namespace

int cuda_driver_version() {
  const Driver* driver = find_driver();
  int version = 0;
  return driver && driver->version(&version) == 0 ? version : 0;
}

Status CudaDevice::check(int status, const char* what) const {
  if (status == 0) return Success{};
  const char* name = nullptr;
  driver_->error_name(status, &name);
  return failure("cuda-error", std::string(what) + ": " + (name ? name : "error " + std::to_string(status)));
}

Result<std::shared_ptr<CudaDevice>> CudaDevice::open() {
  const Driver* driver = find_driver();
  if (!driver) return failure("no-driver", "libcuda.so.1 was not found: no NVIDIA driver");
  std::shared_ptr<CudaDevice> opened(new CudaDevice);
  opened->driver_ = driver;
  int device = 0;
  if (driver->init(0) != 0 || driver->device(&device, 0) != 0) return failure("no-gpu", "no NVIDIA GPU");
  DeviceFacts& facts = opened->facts_;
  char name[256] = "";
  int major = 0, minor = 0, l2 = 0, shared = 0, memory_khz = 0, memory_bits = 0;
  driver->device_name(name, sizeof name, device);
  driver->attribute(&major, attribute_major, device);
  driver->attribute(&minor, attribute_minor, device);
  driver->attribute(&facts.multiprocessors, attribute_multiprocessors, device);
  driver->attribute(&l2, attribute_l2_bytes, device);
  driver->attribute(&shared, attribute_shared_bytes, device);
  driver->attribute(&memory_khz, attribute_memory_khz, device);
  driver->attribute(&memory_bits, attribute_memory_bits, device);
  driver->version(&facts.driver_version);
  facts.name = name;
  facts.capability = 10 * major + minor;
  facts.l2_bytes = l2;
  facts.shared_bytes = shared;
  // Two transfers a clock.
  if (memory_khz > 0 && memory_bits > 0) facts.bytes_per_second = 2e3 * memory_khz * memory_bits / 8;
  if (auto status = opened->check(driver->retain(&opened->context_, device), "context"); !status)
    return status.errors();
  if (auto status = opened->check(driver->make_current(opened->context_), "context"); !status)
    return status.errors();
  return opened;
}

const Result<std::shared_ptr<CudaDevice>>& CudaDevice::shared() {
  static const auto* opened = new Result<std::shared_ptr<CudaDevice>>(open());
  return *opened;
}

CudaDevice::~CudaDevice() {
  if (context_) driver_->release(0);
}

Result<DeviceAddress> CudaDevice::allocate(int64_t bytes) {
  DeviceAddress address = 0;
  auto status = check(driver_->allocate(&address, static_cast<size_t>(bytes > 0 ? bytes : 1)), "allocate");
  if (!status) return status.errors();
  return address;
}

void CudaDevice::release(DeviceAddress address) {
  driver_->free(address);
}

Result<GuardedPages> CudaDevice::map_guarded(int64_t bytes) {
  constexpr int64_t gap = int64_t{16} << 30;  // before and behind; what 32 bits can index of floats
  const MemoryKind kind;
  const MemoryAccess access;
  size_t page = 0;
  GuardedPages pages;
  if (driver_->granularity(&page, &kind, 0) == 0 && page > 0) {
    const auto step = static_cast<int64_t>(page);
    pages.bytes = std::max<int64_t>(1, (bytes + step - 1) / step) * step;
    pages.reserved_bytes = pages.bytes + 2 * gap;
    auto size = static_cast<size_t>(pages.bytes);
    if (driver_->reserve(&pages.reserved, static_cast<size_t>(pages.reserved_bytes), 0, 0, 0) == 0) {
      pages.begin = pages.reserved + static_cast<DeviceAddress>(gap);
      bool created = driver_->create(&pages.handle, size, &kind, 0) == 0;
      bool mapped = created && driver_->map(pages.begin, size, 0, pages.handle, 0) == 0;
      pages.guarded = mapped && driver_->set_access(pages.begin, size, &access, 1) == 0;
      if (pages.guarded) return pages;
      if (mapped) driver_->unmap(pages.begin, size);
      if (created) driver_->release_handle(pages.handle);
      driver_->unreserve(pages.reserved, static_cast<size_t>(pages.reserved_bytes));
    }
  }
  auto plain = allocate(bytes);
  if (!plain) return plain.errors();
  return GuardedPages{*plain, bytes};
}

void CudaDevice::unmap(const GuardedPages& pages) {
  if (!pages.guarded) return release(pages.begin);
  driver_->unmap(pages.begin, static_cast<size_t>(pages.bytes));
  driver_->release_handle(pages.handle);
  driver_->unreserve(pages.reserved, static_cast<size_t>(pages.reserved_bytes));
}

Status CudaDevice::write(DeviceAddress to, const void* from, int64_t bytes) {
  return bytes ? check(driver_->to_device(to, from, static_cast<size_t>(bytes)), "copy") : Success{};
}

Status CudaDevice::read(void* to, DeviceAddress from, int64_t bytes) {
  return bytes ? check(driver_->to_host(to, from, static_cast<size_t>(bytes)), "copy") : Success{};
}

Status CudaDevice::fill(DeviceAddress to, int value, int64_t bytes) {
  return bytes
             ? check(driver_->fill(to, static_cast<unsigned char>(value), static_cast<size_t>(bytes)), "fill")
             : Success{};
}

Status CudaDevice::copy(DeviceAddress to, DeviceAddress from, int64_t bytes) {
  return bytes ? check(driver_->copy(to, from, static_cast<size_t>(bytes)), "copy") : Success{};
}

Status CudaDevice::synchronize() {
  return check(driver_->synchronize(), "kernel");
}

Result<double> CudaDevice::seconds(const std::function<Status()>& work) {
  void* events[2] = {};
  for (void*& event : events)
    if (auto status = check(driver_->event_create(&event, 0), "event"); !status) return status.errors();
  float milliseconds = 0;
  auto run = [&]() -> Status {
    if (auto status = check(driver_->event_record(events[0], nullptr), "event"); !status) return status;
    if (auto status = work(); !status) return status;
    if (auto status = check(driver_->event_record(events[1], nullptr), "event"); !status) return status;
    if (auto status = check(driver_->event_synchronize(events[1]), "kernel"); !status) return status;
    return check(driver_->elapsed(&milliseconds, events[0], events[1]), "event");
  };
  auto status = run();
  for (void* event : events)
    driver_->event_destroy(event);
  if (!status) return status.errors();
  return milliseconds * 1e-3;
}

Result<void*> CudaDevice::load(const std::string& cubin) {
  void* module = nullptr;
  if (auto status = check(driver_->make_current(context_), "context"); !status) return status.errors();
  if (auto status = check(driver_->load(&module, cubin.data()), "load"); !status) return status.errors();
  return module;
}

void CudaDevice::unload(void* module) {
  driver_->unload(module);
}

Result<void*> CudaDevice::function(void* module, const std::string& name, int64_t shared_bytes) {
  void* function = nullptr;
  if (auto status = check(driver_->function(&function, module, name.c_str()), name.c_str()); !status)
    return status.errors();
  // A GPU sets it aside for all threads that it can hold, for as long as the process lasts.
  constexpr int local_bytes = 3, most = 16 << 10;
  int bytes = 0;
  if (driver_->function_attribute(&bytes, local_bytes, function) == 0 && bytes > most)
    return failure(
        "local-memory",
        std::to_string(bytes) + " bytes of locals a thread; " + std::to_string(most) + " may be");
  constexpr int dynamic_shared_bytes = 8;
  constexpr int64_t unasked = 48 << 10;
  if (shared_bytes > unasked) {
    const auto wanted = static_cast<int>(shared_bytes);
    auto status =
        check(driver_->set_function_attribute(function, dynamic_shared_bytes, wanted), "memory of a block");
    if (!status) return status.errors();
  }
  return function;
}

Status CudaDevice::launch(void* function, Size grid, Size block, unsigned shared_bytes, void** arguments) {
  return check(
      driver_->launch(
          function,
          grid[0],
          grid[1],
          grid[2],
          block[0],
          block[1],
          block[2],
          shared_bytes,
          nullptr,
          arguments,
          nullptr),
      "launch");
}

namespace {

SizeValue size_for(const std::string& expression, int64_t dynamic_size) {
  return evaluate_size(expression, [&](std::string_view name) {
    return name == "d0" && dynamic_size > 0 ? std::optional(dynamic_size) : std::nullopt;
  });
}

Result<CudaDevice::Size> sizes_for(const std::vector<std::string>& expressions, int64_t dynamic_size) {
  constexpr int64_t most[] = {std::numeric_limits<int>::max(), 65535, 65535};  // blocks of a grid
  CudaDevice::Size sizes = {1, 1, 1};
  for (size_t k = 0; k < expressions.size() && k < sizes.size(); ++k) {
    auto [value, problem] = size_for(expressions[k], dynamic_size);
    if (!value || *value < 1 || *value > most[k])
      return failure(
          "bad-launch",
          "launch: " + (value ? "no GPU takes a size of " + std::to_string(*value) : problem) +
              (dynamic_size > 0 ? ", for an open size of " + std::to_string(dynamic_size) : ""));
    sizes[k] = static_cast<unsigned>(*value);
  }
  return sizes;
}

}  // namespace

Result<std::shared_ptr<DeviceKernel>> DeviceKernel::load(
    std::shared_ptr<CudaDevice> device, const std::string& cubin, const Candidate& candidate) {
  std::shared_ptr<DeviceKernel> kernel(
      new DeviceKernel(std::move(device), candidate.launch, candidate.second));
  auto module = kernel->device_->load(cubin);
  if (!module) return module.errors();
  kernel->module_ = *module;
  const int64_t shared_bytes = candidate.launch.scratch_bytes;
  for (int version : {0, 1}) {
    std::string ending = version ? "_unaligned" : "";
    auto function = kernel->device_->function(*module, "autoperfect_kernel" + ending, shared_bytes);
    if (!function && version) {  // of a draft, which is right for whatever its guards admit
      kernel->kernels_[version] = kernel->kernels_[0];
      break;
    }
    if (!function) return function.errors();
    kernel->kernels_[version] = *function;
    if (candidate.second.grid.empty()) continue;
    auto finish = kernel->device_->function(*module, "autoperfect_finish" + ending, shared_bytes);
    if (!finish) return finish.errors();
    kernel->finishes_[version] = *finish;
  }
  if (auto sizes = kernel->read_sizes(0)) kernel->fixed_ = *sizes;
  return kernel;
}

Result<std::shared_ptr<DeviceKernel>> DeviceKernel::keep(
    const std::string& cubin, const Candidate& candidate) {
  auto& device = CudaDevice::shared();
  if (!device) return device.errors();
  static auto& mutex = *new std::mutex;
  static auto& kept = *new std::map<std::string, std::shared_ptr<DeviceKernel>>;
  std::lock_guard lock(mutex);
  auto& known = kept[hash_hex(cubin + candidate.source)];
  if (known) return known;
  auto loaded = load(*device, cubin, candidate);
  if (!loaded) return loaded.errors();
  return known = *loaded;
}

DeviceKernel::~DeviceKernel() {
  if (module_) device_->unload(module_);
}

Result<DeviceKernel::Sizes> DeviceKernel::read_sizes(int64_t dynamic_size) const {
  Sizes read;
  for (int finish : {0, 1}) {
    auto grid = sizes_for(finish ? second_.grid : launch_.grid, dynamic_size);
    auto block = sizes_for(finish ? second_.block : launch_.block, dynamic_size);
    if (!grid) return grid.errors();
    if (!block) return block.errors();
    read.grid[finish] = *grid;
    read.block[finish] = *block;
  }
  if (second_.grid.empty()) return read;
  auto [bytes, problem] = size_for(second_.partial_bytes, dynamic_size);
  if (!bytes) return failure("bad-launch", second_.partial_bytes + ": " + problem);
  read.partial_bytes = *bytes;
  return read;
}

Result<std::shared_ptr<const DeviceKernel::Sizes>> DeviceKernel::sizes(int64_t dynamic_size) const {
  if (dynamic_size == 0 && fixed_) return std::shared_ptr<const Sizes>(std::shared_ptr<void>(), &*fixed_);
  constexpr size_t most = 64;  // a size that grows with every call fills no memory
  std::lock_guard lock(mutex_);
  auto& known = sizes_[dynamic_size];
  if (known) return known;
  auto read = read_sizes(dynamic_size);
  if (!read) {
    sizes_.erase(dynamic_size);
    return read.errors();
  }
  auto kept = std::make_shared<const Sizes>(*read);
  known = kept;
  if (sizes_.size() > most) sizes_.erase(sizes_.begin());
  return kept;
}

std::optional<int64_t> DeviceKernel::partial_bytes(int64_t dynamic_size) const {
  if (second_.grid.empty()) return 0;
  auto known = sizes(dynamic_size);
  return known ? std::optional((*known)->partial_bytes) : std::nullopt;
}

Status DeviceKernel::run(
    const std::vector<DeviceAddress>& in,
    const std::vector<DeviceAddress>& out,
    DeviceAddress partial,
    int64_t dynamic_size,
    const Launcher& launcher,
    DeviceAddress reached) const {
  auto known = sizes(dynamic_size);
  if (!known) return known.errors();
  constexpr DeviceAddress alignment = 16;
  int version = 0;
  for (auto* buffers : {&in, &out})
    for (DeviceAddress buffer : *buffers)
      if (buffer % alignment) version = 1;
  bool finishes = finishes_[0] != nullptr;
  int size = static_cast<int>(dynamic_size);
  auto start = [&](bool finish) -> Status {
    std::vector<DeviceAddress> buffers;
    buffers.reserve(in.size() + out.size() + 1);
    buffers = in;
    if (finish) buffers.push_back(partial);
    if (finishes)
      for (int output : finish ? second_.outputs : second_.first_outputs)
        buffers.push_back(out.at(static_cast<size_t>(output)));
    else
      buffers.insert(buffers.end(), out.begin(), out.end());
    if (finishes && !finish) buffers.push_back(partial);
    std::vector<void*> arguments;
    arguments.reserve(buffers.size() + 2);
    for (DeviceAddress& buffer : buffers)
      arguments.push_back(&buffer);
    if (dynamic_size > 0) arguments.push_back(&size);
    if (reached) arguments.push_back(&reached);
    void* function = (finish ? finishes_ : kernels_)[version];
    auto& grid = (*known)->grid[finish];
    auto& block = (*known)->block[finish];
    auto shared = static_cast<unsigned>(launch_.scratch_bytes);
    return launcher ? launcher(function, grid, block, shared, arguments.data())
                    : device_->launch(function, grid, block, shared, arguments.data());
  };
  if (auto status = start(false); !status || !finishes) return status;
  return start(true);
}

}  // namespace autoperfect
