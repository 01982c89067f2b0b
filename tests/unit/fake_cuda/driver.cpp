// CUDA's driver interface for a GPU that is not there, as the gate's helper process looks it up: memory of
// the host, and launches of the functions below, thread after thread. A binary is the name of one of them;
// after a fault every call fails, as on a GPU.
#include <sys/mman.h>

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int illegal_address = 700, not_found = 500;
constexpr long columns = 40;

// Of a thread: what the kernels of tests/cheats/kernels/scale.ap are given.
struct Thread {
  const float* x;
  float* y;
  long count;  // elements
  unsigned char* reached;
  long at;
  void arm(int k) const {
    if (reached) reached[k] = 1;
  }
};

void honest(const Thread& t) {
  if (t.at < t.count) {
    t.arm(0);
    t.y[t.at] = t.x[t.at] * 3.0f;
  } else {
    t.arm(1);
  }
}

const float* volatile no_address = nullptr;
volatile float sink;
void touch(float number) {
  sink = number;
}

struct Kernel {
  const char* name;
  void (*run)(const Thread&);
};
const Kernel kernels[] = {
    {"honest", honest},
    {"writes one after", [](const Thread& t) { honest(t), t.at == t.count ? void(t.y[t.at] = 1) : void(); }},
    {"writes one before", [](const Thread& t) { honest(t), t.at == 0 ? void(t.y[-1] = 1) : void(); }},
    {"writes a page after",
     [](const Thread& t) { honest(t), t.at == 0 ? void(t.y[t.count + 1024] = 1) : void(); }},
    {"writes far after",
     [](const Thread& t) { honest(t), t.at == 0 ? void(t.y[t.count + (1 << 20)] = 1) : void(); }},
    {"reads one after", [](const Thread& t) { honest(t), touch(t.x[t.at < t.count ? t.at + 1 : 0]); }},
    {"reads one before", [](const Thread& t) { honest(t), touch(t.x[t.at < t.count ? t.at - 1 : 0]); }},
    {"writes its input",
     [](const Thread& t) { honest(t), t.at == 7 ? void(const_cast<float*>(t.x)[7] = 1) : void(); }},
    {"assumes an alignment",
     [](const Thread& t) { honest(t), reinterpret_cast<uintptr_t>(t.y) % 16 ? touch(*no_address) : void(); }},
    {"deep", honest},
    {"stale",
     [](const Thread& t) {
       if (t.at < t.count && t.y[t.at] == 0) honest(t);
     }},
    {"an arm is missing",
     [](const Thread& t) {
       if (t.at < t.count) honest(t);
     }},
    {"writes past the counters", [](const Thread& t) { honest(t), t.arm(2); }},
    {"endless",
     [](const Thread& t) {
       honest(t);
       while (t.at == 5)
         sink = 1;
     }},
    {"wrong when watched",
     [](const Thread& t) {
       honest(t);
       if (t.reached && t.at < t.count) t.y[t.at] += 1;
     }},
};

struct Module {
  const Kernel* kernel;
  bool is_counted;
};

int failed = 0;
sigjmp_buf before_launch;

}  // namespace

#define AP_CALL(...)           \
  {                            \
    if (failed) return failed; \
    __VA_ARGS__;               \
    return 0;                  \
  }
extern "C" {
int cuInit(unsigned) AP_CALL() int cuDriverGetVersion(int* version) AP_CALL(*version = 13000) int cuDeviceGet(
    int* device, int) AP_CALL(*device = 0) int cuDeviceGetName(char* name, int, int)
    AP_CALL(std::strcpy(name, "none")) int cuDeviceGetAttribute(
        int* value,
        int attribute,
        int) AP_CALL(*value = attribute == 75 ? 9 : 0) int cuDevicePrimaryCtxRetain(void** context, int)
        AP_CALL(*context = &failed) int cuDevicePrimaryCtxRelease_v2(int) AP_CALL() int cuCtxSetCurrent(
            void*) AP_CALL() int cuMemAlloc_v2(uint64_t* at, size_t bytes)
            AP_CALL(*at = reinterpret_cast<uint64_t>(std::malloc(bytes))) int cuMemFree_v2(uint64_t at)
                AP_CALL(std::free(reinterpret_cast<void*>(at))) int cuMemcpyHtoD_v2(
                    uint64_t to, const void* from, size_t n)
                    AP_CALL(std::memcpy(reinterpret_cast<void*>(to), from, n)) int cuMemcpyDtoH_v2(
                        void* to, uint64_t from, size_t n)
                        AP_CALL(std::memcpy(to, reinterpret_cast<void*>(from), n)) int cuMemcpyDtoD_v2(
                            uint64_t to, uint64_t from, size_t n)
                            AP_CALL(std::memcpy(
                                reinterpret_cast<void*>(to),
                                reinterpret_cast<void*>(from),
                                n)) int cuMemsetD8_v2(uint64_t to, unsigned char byte, size_t n)
                                AP_CALL(
                                    std::memset(reinterpret_cast<void*>(to), byte, n)) int cuCtxSynchronize()
                                    AP_CALL() int cuEventCreate(void**, unsigned)
                                        AP_CALL() int cuEventDestroy_v2(void*) AP_CALL() int cuEventRecord(
                                            void*, void*) AP_CALL() int cuEventSynchronize(void*)
                                            AP_CALL() int cuEventElapsedTime(float*, void*, void*)
                                                AP_CALL() int cuMemGetAllocationGranularity(
                                                    size_t* bytes, const void*, int)
                                                    AP_CALL(*bytes = size_t{2} << 20) int cuMemAddressReserve(
                                                        uint64_t* at, size_t n, size_t, uint64_t, uint64_t) {
  void* pages = mmap(nullptr, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *at = reinterpret_cast<uint64_t>(pages);
  return pages == MAP_FAILED ? 2 : 0;
}
int cuMemAddressFree(uint64_t at, size_t n) AP_CALL(munmap(reinterpret_cast<void*>(at), n)) int cuMemCreate(
    uint64_t* handle, size_t n, const void*, uint64_t) AP_CALL(*handle = n) int cuMemRelease(uint64_t)
    AP_CALL() int cuMemMap(uint64_t, size_t, size_t, uint64_t, uint64_t)
        AP_CALL() int cuMemUnmap(uint64_t at, size_t n)
            AP_CALL(mprotect(reinterpret_cast<void*>(at), n, PROT_NONE)) int cuMemSetAccess(
                uint64_t at, size_t n, const void*, size_t)
                AP_CALL(mprotect(reinterpret_cast<void*>(at), n, PROT_READ | PROT_WRITE)) int cuModuleUnload(
                    void* module) AP_CALL(delete static_cast<Module*>(module))

                    int cuGetErrorName(int error, const char** name) {
  *name = error == illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_NOT_FOUND";
  return 0;
}

// "honest", or "honest, counted".
int cuModuleLoadData(void** module, const void* image) {
  std::string name = static_cast<const char*>(image);
  const auto comma = name.find(", counted");
  for (const auto& kernel : kernels) {
    if (name.substr(0, comma) != kernel.name) continue;
    *module = new Module{&kernel, comma != std::string::npos};
    return 0;
  }
  return not_found;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = module;
  return std::strcmp(name, "autoperfect_kernel") == 0 ? 0 : not_found;
}

int cuFuncSetAttribute(void*, int, int) {
  return 0;
}

int cuFuncGetAttribute(int* bytes, int, void* function)
    AP_CALL(*bytes = std::strcmp(static_cast<Module*>(function)->kernel->name, "deep") == 0 ? 80000 : 100)

        int cuLaunchKernel(
            void* function,
            unsigned blocks,
            unsigned,
            unsigned,
            unsigned threads,
            unsigned,
            unsigned,
            unsigned,
            void*,
            void** parameters,
            void**) {
  const auto& module = *static_cast<const Module*>(function);
  struct sigaction on_fault {};
  on_fault.sa_handler = [](int) { siglongjmp(before_launch, 1); };
  sigaction(SIGSEGV, &on_fault, nullptr);
  if (sigsetjmp(before_launch, 1)) failed = illegal_address;
  Thread thread{};
  std::memcpy(&thread.x, parameters[0], sizeof(void*));
  std::memcpy(&thread.y, parameters[1], sizeof(void*));
  thread.count = *static_cast<int*>(parameters[2]) * columns;
  if (module.is_counted) std::memcpy(&thread.reached, parameters[3], sizeof(void*));
  for (; !failed && thread.at < static_cast<long>(blocks) * threads; ++thread.at)
    module.kernel->run(thread);
  return 0;
}
}
