#include "compile/cpu/object_check.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <set>
#include <string_view>

namespace autoperfect {
namespace {

// With `f` after the name as well.
const std::set<std::string_view> math_functions = {
    "acos",      "acosh",    "asin",      "asinh", "atan",   "atan2",     "atanh",   "cbrt",
    "ceil",      "copysign", "cos",       "cosh",  "erf",    "erfc",      "exp",     "exp2",
    "expm1",     "fabs",     "fdim",      "floor", "fma",    "fmax",      "fmin",    "fmod",
    "frexp",     "hypot",    "ilogb",     "ldexp", "lgamma", "llrint",    "llround", "log",
    "log10",     "log1p",    "log2",      "logb",  "lrint",  "lround",    "modf",    "nearbyint",
    "nextafter", "pow",      "remainder", "rint",  "round",  "roundeven", "scalbn",  "sin",
    "sincos",    "sinh",     "sqrt",      "tan",   "tanh",   "tgamma",    "trunc"};
const std::set<std::string_view> memory_functions = {"memcpy", "memmove", "memset", "memcmp"};
const std::set<std::string_view> libraries = {"libm.so.6", "libc.so.6", "libgcc_s.so.1"};

bool is_allowed_import(std::string_view name) {
  if (memory_functions.count(name) || math_functions.count(name)) return true;
  return name.ends_with('f') && math_functions.count(name.substr(0, name.size() - 1));
}

// Bounds-checked views into the file.
class ElfFile {
 public:
  explicit ElfFile(const std::string& bytes) : bytes_(bytes) {}

  bool open() {
    auto header = read<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN) return false;
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum == 0) return false;
    for (int i = 0; i < header->e_shnum; ++i) {
      auto section = read<Elf64_Shdr>(header->e_shoff + static_cast<uint64_t>(i) * sizeof(Elf64_Shdr));
      if (!section) return false;
      sections_.push_back(*section);
    }
    names_ = header->e_shstrndx;
    return names_ < sections_.size();
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view section_name(const Elf64_Shdr& section) const { return text(names_, section.sh_name); }

  template <class T>
  std::vector<T> table(const Elf64_Shdr& section) const {
    std::vector<T> entries;
    for (uint64_t at = 0; at + sizeof(T) <= section.sh_size; at += sizeof(T)) {
      auto entry = read<T>(section.sh_offset + at);
      if (!entry) break;
      entries.push_back(*entry);
    }
    return entries;
  }

  // A string of the string table in section `table`.
  std::string_view text(size_t table, uint64_t offset) const {
    if (table >= sections_.size()) return "?";
    uint64_t start = sections_[table].sh_offset + offset;
    if (offset >= sections_[table].sh_size || start >= bytes_.size()) return "?";
    std::string_view rest = std::string_view(bytes_).substr(start);
    return rest.substr(0, rest.find('\0'));
  }

 private:
  template <class T>
  std::optional<T> read(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  const std::string& bytes_;
  std::vector<Elf64_Shdr> sections_;
  size_t names_ = 0;
};

class ObjectCheck {
 public:
  ObjectCheck(const ElfFile& file, bool watched) : file_(file), watched_(watched) {}

  std::vector<Diagnostic> run() {
    for (auto& section : file_.sections()) {
      if (section.sh_type == SHT_DYNSYM) check_symbols(section);
      if (section.sh_type == SHT_DYNAMIC) check_libraries(section);
      check_section(section);
    }
    return std::move(found_);
  }

 private:
  void report(const std::string& code, const std::string& message, const std::string& hint = "") {
    found_.push_back({"compile", code, message, {}, hint});
  }

  bool is_allowed(std::string_view name) const {
    return is_allowed_import(name) ||
           (watched_ && (name.starts_with("__asan_") || name.starts_with("__ubsan_handle_")));
  }

  void check_symbols(const Elf64_Shdr& section) {
    for (auto& symbol : file_.table<Elf64_Sym>(section)) {
      std::string name(file_.text(section.sh_link, symbol.st_name));
      if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) {
        report("runs-when-loaded", "the kernel has a resolver '" + name + "', which runs when it is loaded");
      }
      if (symbol.st_shndx == SHN_UNDEF && !name.empty() && !is_allowed(name)) {
        report(
            "import",
            "the kernel calls '" + name + "', which is not a mathematical function",
            "a kernel computes from its arguments alone");
      }
    }
  }

  void check_libraries(const Elf64_Shdr& section) {
    for (auto& entry : file_.table<Elf64_Dyn>(section)) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED) {
        std::string name(file_.text(section.sh_link, entry.d_un.d_val));
        if (!libraries.count(name)) report("library", "the kernel needs the library '" + name + "'");
      }
      if (!watched_ && (entry.d_tag == DT_INIT || entry.d_tag == DT_FINI)) {
        report("runs-when-loaded", "the kernel has code that runs when it is loaded");
      }
    }
  }

  void check_section(const Elf64_Shdr& section) {
    std::string_view name = file_.section_name(section);
    if (section.sh_size == 0 || watched_) return;
    bool runs = section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY ||
                section.sh_type == SHT_PREINIT_ARRAY || name.starts_with(".ctors") ||
                name.starts_with(".dtors");
    if (runs)
      report("runs-when-loaded", "the kernel has code that runs when it is loaded", "no global objects");
    bool remembers = name.starts_with(".bss") || name.starts_with(".tbss") || name.starts_with(".tdata") ||
                     (name.starts_with(".data") && !name.starts_with(".data.rel.ro"));
    if (remembers) {
      report(
          "state",
          "the kernel keeps memory between calls (" + std::string(name) + ")",
          "make static variables const, and use scratch for the rest");
    }
  }

  const ElfFile& file_;
  bool watched_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> check_object(const std::string& binary, bool watched) {
  ElfFile file(binary);
  if (!file.open()) return {{"compile", "not-an-object", "the compiler's output is no ELF shared object"}};
  return ObjectCheck(file, watched).run();
}

}  // namespace autoperfect
