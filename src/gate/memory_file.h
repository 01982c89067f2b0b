// A memory file, mapped here and given to the helper by its descriptor. Its size is sealed, so that whoever
// holds the descriptor cannot make our mapping fault.
#pragma once

#include <cstdint>

#include "support/descriptor.h"

namespace autoperfect {

class MemoryFile {
 public:
  explicit MemoryFile(int64_t bytes);  // zeros; check data() for null
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;

  unsigned char* data() { return data_; }
  int fd() const { return file_.get(); }
  int64_t bytes() const { return bytes_; }

  // No more writes, by anybody. Ends our own mapping; data() is null afterwards.
  bool seal_contents();

 private:
  Descriptor file_;
  unsigned char* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace autoperfect
