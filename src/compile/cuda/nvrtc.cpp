#include "compile/cuda/nvrtc.h"

#include <dlfcn.h>

#include <filesystem>
#include <initializer_list>

#include "support/library_functions.h"

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
  LibraryFunctions functions(library);
  functions.find(found.version, "nvrtcVersion");
  functions.find(found.create, "nvrtcCreateProgram");
  functions.find(found.destroy, "nvrtcDestroyProgram");
  functions.find(found.compile, "nvrtcCompileProgram");
  functions.find(found.log_size, "nvrtcGetProgramLogSize");
  functions.find(found.log, "nvrtcGetProgramLog");
  functions.find(found.cubin_size, "nvrtcGetCUBINSize");
  functions.find(found.cubin, "nvrtcGetCUBIN");
  functions.find(found.error_text, "nvrtcGetErrorString");
  return functions.all_found() ? &found : nullptr;
}

}  // namespace

const Nvrtc* find_nvrtc() {
  static const Nvrtc* nvrtc = load();
  return nvrtc;
}

std::string nvrtc_folder() {
  Dl_info info;
  const Nvrtc* nvrtc = find_nvrtc();
  if (!nvrtc || !dladdr(reinterpret_cast<void*>(nvrtc->compile), &info) || !info.dli_fname) return "";
  std::error_code error;
  auto library = std::filesystem::canonical(info.dli_fname, error);
  return error ? "" : library.parent_path().string();
}

}  // namespace autoperfect
