#include "compile/cpu/object_check.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "compile/cpu/instructions.h"

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
    for (int i = 0; i < header->e_phnum; ++i) {
      auto segment = read<Elf64_Phdr>(header->e_phoff + static_cast<uint64_t>(i) * sizeof(Elf64_Phdr));
      if (!segment) return false;
      segments_.push_back(*segment);
    }
    machine_ = header->e_machine;
    names_ = header->e_shstrndx;
    return names_ < sections_.size();
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  int machine() const { return machine_; }
  std::string_view bytes_of(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes_.size()) return {};
    return std::string_view(bytes_).substr(section.sh_offset, section.sh_size);
  }
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
  std::vector<Elf64_Phdr> segments_;
  int machine_ = 0;
  size_t names_ = 0;
};

class ObjectCheck {
 public:
  ObjectCheck(const ElfFile& file, bool watched) : file_(file), watched_(watched) {}

  std::vector<Diagnostic> run() {
    for (auto& section : file_.sections()) {
      if (section.sh_type == SHT_DYNSYM) check_symbols(section);
      if (section.sh_type == SHT_DYNAMIC) check_libraries(section);
      if (section.sh_type == SHT_RELA) check_relocations(section);
      check_section(section);
    }
    check_segments();
    if (file_.machine() == EM_X86_64) check_code();
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

  // Code is neither written nor made of data.
  void check_segments() {
    for (auto& segment : file_.segments()) {
      const bool is_memory = segment.p_type == PT_LOAD || segment.p_type == PT_GNU_STACK;
      if (is_memory && (segment.p_flags & PF_X) && (segment.p_flags & PF_W))
        report("code", "the kernel has memory that can be both written and run");
    }
  }

  bool is_in(uint64_t address, uint64_t flags) const {
    for (auto& section : file_.sections()) {
      const bool inside = address >= section.sh_addr && address - section.sh_addr < section.sh_size;
      if (inside && (section.sh_flags & SHF_ALLOC) && (section.sh_flags & flags)) return true;
    }
    return false;
  }

  void check_relocations(const Elf64_Shdr& section) {
    if (file_.machine() != EM_X86_64 || !(section.sh_flags & SHF_ALLOC)) return;
    for (auto& entry : file_.table<Elf64_Rela>(section)) {
      const auto type = ELF64_R_TYPE(entry.r_info);
      const bool is_known = type == R_X86_64_RELATIVE || type == R_X86_64_GLOB_DAT ||
                            type == R_X86_64_JUMP_SLOT || type == R_X86_64_64;
      const bool of_code = type == R_X86_64_RELATIVE && !watched_ &&
                           is_in(static_cast<uint64_t>(entry.r_addend), SHF_EXECINSTR);
      if (!is_known || is_in(entry.r_offset, SHF_EXECINSTR))
        report("relocation", "the loader would have to run or change code of the kernel");
      if (of_code) report("code", "the kernel keeps addresses of code", "call functions by their names");
    }
  }

  // What a watched build has in addition is the compiler's, and its source has passed as a plain build.
  void check_code() {
    if (watched_) return;
    CodeCheck code([&](uint64_t address) {
      for (auto& section : file_.sections())
        if (file_.section_name(section).starts_with(".got") && address >= section.sh_addr &&
            address - section.sh_addr < section.sh_size)
          return true;
      return false;
    });
    std::string wrong;
    for (auto& section : file_.sections()) {
      if (wrong.empty() && (section.sh_flags & SHF_EXECINSTR))
        wrong = code.add(file_.bytes_of(section), section.sh_addr);
    }
    if (wrong.empty()) wrong = code.find_bad_branch();
    if (!wrong.empty()) report("code", "the kernel " + wrong, "plain C++ over its arguments, without asm");
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
