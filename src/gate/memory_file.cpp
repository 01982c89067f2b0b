#include "gate/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <utility>

namespace autoperfect {

MemoryFile::MemoryFile(int64_t bytes)
    : file_(memfd_create("autoperfect-gate", MFD_CLOEXEC | MFD_ALLOW_SEALING)), bytes_(bytes) {
  if (!file_ || ftruncate(file_.get(), bytes) != 0) return;
  fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  void* memory =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory != MAP_FAILED) data_ = static_cast<unsigned char*>(memory);
}

MemoryFile::~MemoryFile() {
  if (data_) munmap(data_, static_cast<size_t>(bytes_));
}

bool MemoryFile::seal_contents() {
  if (data_) munmap(std::exchange(data_, nullptr), static_cast<size_t>(bytes_));
  return fcntl(file_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) == 0;
}

}  // namespace autoperfect
