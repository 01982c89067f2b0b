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

std::vector<std::string> nvrtc_places() {
  std::vector<std::string> places = {"/etc/ld.so.cache"};
  Dl_info info;
  const Nvrtc* nvrtc = find_nvrtc();
  if (!nvrtc || !dladdr(reinterpret_cast<void*>(nvrtc->compile), &info) || !info.dli_fname) return places;
  const std::filesystem::path library = info.dli_fname;
  std::error_code ignored;
  places.push_back(library.parent_path());
  places.push_back(std::filesystem::canonical(library, ignored).parent_path());
  return places;
}

}  // namespace autoperfect
