// Functions of a shared library that is looked for only at run time, so that the product works without it.
#pragma once

#include <dlfcn.h>

#include <type_traits>

namespace autoperfect {

class LibraryFunctions {
 public:
  explicit LibraryFunctions(void* library) : library_(library) {}

  // Null where the library lacks it.
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    all_found_ = all_found_ && function;
  }
  bool all_found() const { return all_found_; }

 private:
  void* library_;
  bool all_found_ = true;
};

}  // namespace autoperfect
