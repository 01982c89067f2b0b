#include "compile/cuda/nvrtc.h"

#include <dlfcn.h>

#include <initializer_list>
#include <type_traits>

namespace autoperfect {
namespace {

void* open_library() {
  for (const char* name :
       {"libnvrtc.so.13",
        "libnvrtc.so.12",
        "/usr/local/cuda/lib64/libnvrtc.so.13",
        "/usr/local/cuda/lib64/libnvrtc.so.12"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

const Nvrtc* load() {
  void* library = open_library();
  if (!library) return nullptr;
  static Nvrtc found;
  bool all = true;
  auto look_up = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    all = all && function;
  };
  look_up(found.version, "nvrtcVersion");
  look_up(found.create, "nvrtcCreateProgram");
  look_up(found.destroy, "nvrtcDestroyProgram");
  look_up(found.compile, "nvrtcCompileProgram");
  look_up(found.log_size, "nvrtcGetProgramLogSize");
  look_up(found.log, "nvrtcGetProgramLog");
  look_up(found.cubin_size, "nvrtcGetCUBINSize");
  look_up(found.cubin, "nvrtcGetCUBIN");
  look_up(found.error_text, "nvrtcGetErrorString");
  return all ? &found : nullptr;
}

}  // namespace

const Nvrtc* find_nvrtc() {
  static const Nvrtc* nvrtc = load();
  return nvrtc;
}

}  // namespace autoperfect
