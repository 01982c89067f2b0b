#include "compile/cuda/nvrtc.h"

#include <dlfcn.h>

#include <filesystem>
#include <initializer_list>

#include "support/library_functions.h"

namespace autoperfect {
namespace {

// Of the library that a function is in; empty where that cannot be told.
std::string folder_of(void* function) {
  Dl_info info;
  if (!dladdr(function, &info) || !info.dli_fname) return "";
  std::error_code error;
  auto library = std::filesystem::canonical(info.dli_fname, error);
  return error ? "" : library.parent_path().string();
}

void* open_library() {
  for (const char* name :
       {"libnvrtc.so.13",
        "libnvrtc.so.12",
        "/usr/local/cuda/lib64/libnvrtc.so.13",
        "/usr/local/cuda/lib64/libnvrtc.so.12"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

// NVRTC opens its other part by name when it first compiles: found by then, whatever the loader may search.
void open_other_part(void* function) {
  std::error_code error;
  for (auto& entry : std::filesystem::directory_iterator(folder_of(function), error)) {
    const auto& path = entry.path();
    if (path.filename().string().starts_with("libnvrtc-builtins.so."))
      dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
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
  if (!functions.all_found()) return nullptr;
  open_other_part(reinterpret_cast<void*>(found.compile));
  return &found;
}

}  // namespace

const Nvrtc* find_nvrtc() {
  static const Nvrtc* nvrtc = load();
  return nvrtc;
}

std::string nvrtc_folder() {
  const Nvrtc* nvrtc = find_nvrtc();
  return nvrtc ? folder_of(reinterpret_cast<void*>(nvrtc->compile)) : "";
}

}  // namespace autoperfect
