#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>

#include "compile/cpu/compile.h"
#include "support/descriptor.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // Linux 6.3: needed where memory files are not executable by default
#endif

namespace autoperfect {
namespace {

Descriptor executable_memory_file(const std::string& binary) {
  Descriptor file(memfd_create("autoperfect-kernel", MFD_CLOEXEC | MFD_EXEC));
  if (!file) file = Descriptor(memfd_create("autoperfect-kernel", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), binary)) return Descriptor();
  return file;
}

// The dynamic loader remembers libraries by path and would hand out an old one when a descriptor's number
// comes again. So no path is used twice: "/." and "/" spell the bits of a counter.
std::string unique_path(int fd) {
  static std::atomic<uint64_t> counter{0};
  std::string path = "/proc";
  for (uint64_t bits = ++counter; bits; bits >>= 1)
    path += (bits & 1) ? "/." : "/";
  return path + "/self/fd/" + std::to_string(fd);
}

Diagnostic failure(const std::string& code, const std::string& message) {
  return {"compile", code, message};
}

}  // namespace

LoadedKernel::~LoadedKernel() {
  if (handle) dlclose(handle);
}

Result<std::shared_ptr<LoadedKernel>> load_cpu(const std::string& binary, const Launch& launch) {
  Descriptor file = executable_memory_file(binary);
  if (!file) return failure("no-memory-file", "no memory file can be made for the kernel");
  auto loaded = std::make_shared<LoadedKernel>();
  loaded->launch = launch;
  loaded->handle = dlopen(unique_path(file.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded->handle) {
    const char* reason = dlerror();
    return failure(
        "not-loadable", std::string("the kernel cannot be loaded: ") + (reason ? reason : "unknown"));
  }
  loaded->kernel = reinterpret_cast<LoadedKernel::Kernel>(dlsym(loaded->handle, "autoperfect_kernel"));
  loaded->finish = reinterpret_cast<LoadedKernel::Finish>(dlsym(loaded->handle, "autoperfect_finish"));
  if (!loaded->kernel) return failure("no-kernel", "the source does not define autoperfect_kernel");
  if (launch.partial_bytes > 0 && !loaded->finish) {
    return failure(
        "no-finish", "the source does not define autoperfect_finish, but the launch has partial results");
  }
  return loaded;
}

}  // namespace autoperfect
