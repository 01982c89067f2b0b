// The bytes that tell one specialisation from another. Short keys live on the stack: this runs on every call.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace autoperfect::python {

class KeyWriter {
 public:
  KeyWriter() = default;
  KeyWriter(const KeyWriter&) = delete;
  KeyWriter& operator=(const KeyWriter&) = delete;

  void tag(char c) { write(&c, 1); }
  template <class T>
  void number(T value) {
    write(&value, sizeof(T));
  }
  void bytes(const void* data, size_t size) {
    number(size);
    write(data, size);
  }
  size_t size() const { return large_.empty() ? size_ : large_.size(); }
  std::string_view view() const {
    return large_.empty() ? std::string_view(small_, size_) : std::string_view(large_);
  }

 private:
  void write(const void* data, size_t size) {
    if (large_.empty() && size_ + size <= sizeof(small_)) {
      std::memcpy(small_ + size_, data, size);
      size_ += size;
      return;
    }
    if (large_.empty()) large_.assign(small_, size_);
    large_.append(static_cast<const char*>(data), size);
  }

  size_t size_ = 0;
  char small_[512];
  std::string large_;
};

}  // namespace autoperfect::python
