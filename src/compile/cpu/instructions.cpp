#include "compile/cpu/instructions.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

namespace autoperfect {
namespace {

// What follows an opcode.
enum Shape : uint8_t {
  plain = 0,
  modrm = 1,
  imm8 = 2,
  imm_z = 4,     // 32 bits, 16 with the operand-size prefix
  rel = 8,       // the immediate is the distance of a branch
  refused = 16,  // kernels have no use for it
};

struct Instruction {
  int map = 0;  // 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A, 5, 6: those of EVEX
  uint8_t opcode = 0;
  bool has_modrm = false;
  uint8_t modrm = 0;
  bool rip_relative = false;
  int64_t displacement = 0, immediate = 0;
  int shape = plain;
};

bool is_one_of(uint8_t byte, std::string_view list) {
  return std::memchr(list.data(), byte, list.size()) != nullptr;
}

int shape_of_one_byte(uint8_t opcode) {
  if (opcode < 0x40) {
    const int low = opcode & 7;
    return low < 4 ? modrm : low == 4 ? imm8 : low == 5 ? imm_z : refused;
  }
  if (opcode >= 0x70 && opcode < 0x80) return imm8 | rel;
  if (opcode >= 0xb0 && opcode < 0xb8) return imm8;
  if (opcode >= 0xd8 && opcode < 0xe0) return modrm;  // x87
  if (opcode >= 0xe0 && opcode < 0xe4) return imm8 | rel;
  if (opcode >= 0x84 && opcode < 0x90) return modrm;
  if (is_one_of(opcode, "\x63\xd0\xd1\xd2\xd3\xf6\xf7\xfe\xff")) return modrm;
  if (is_one_of(opcode, "\x6b\x80\x83\xc0\xc1\xc6")) return modrm | imm8;
  if (is_one_of(opcode, "\x69\x81\xc7")) return modrm | imm_z;
  if (is_one_of(opcode, "\x6a\xa8")) return imm8;
  if (is_one_of(opcode, "\x68\xa9")) return imm_z;
  if (is_one_of(opcode, "\xe8\xe9")) return imm_z | rel;
  if (opcode == 0xeb) return imm8 | rel;
  const bool is_simple = (opcode >= 0x50 && opcode < 0x60) || (opcode >= 0x90 && opcode < 0x9a) ||
                         (opcode >= 0xa4 && opcode < 0xb0) || (opcode >= 0xb8 && opcode < 0xc0) ||
                         opcode == 0xc3 || opcode == 0xc9 || opcode == 0x9b || opcode == 0xf5 ||
                         opcode == 0xf8 || opcode == 0xf9 || opcode == 0xfc;
  return is_simple ? plain : refused;
}

int shape_of_0f(uint8_t opcode) {
  if (opcode >= 0x80 && opcode < 0x90) return imm_z | rel;
  if (opcode == 0x0b || opcode == 0x77 || (opcode >= 0xc8 && opcode < 0xd0)) return plain;
  if ((opcode >= 0x70 && opcode < 0x74) || is_one_of(opcode, "\xa4\xac\xba\xc2\xc4\xc5\xc6"))
    return modrm | imm8;
  // System calls, clocks, counters, descriptors, the cpu's identity and randomness.
  const bool reaches_out = opcode < 0x0d || (opcode >= 0x20 && opcode < 0x28) ||
                           (opcode >= 0x30 && opcode < 0x40) || opcode == 0x78 || opcode == 0x79 ||
                           (opcode >= 0xa0 && opcode < 0xa3) || (opcode >= 0xa8 && opcode < 0xab) ||
                           opcode == 0xc7;
  return reaches_out ? refused : modrm;
}

int shape_of(int map, uint8_t opcode, bool is_vex) {
  switch (map) {
    case 0:
      return shape_of_one_byte(opcode);
    case 1:
      return !is_vex || opcode == 0x77 || shape_of_0f(opcode) == (modrm | imm8) ? shape_of_0f(opcode) : modrm;
    case 2:
    case 5:
    case 6:
      return modrm;
    case 3:
      return modrm | imm8;
    default:
      return refused;
  }
}

// Of the group 0F AE; the others flush caches or change how the host rounds.
bool is_fence(uint8_t byte) {
  return byte >= 0xe8;
}

class Decoder {
 public:
  Decoder(std::string_view code, size_t at) : code_(code), at_(at) {}

  // None: it is refused, or no instruction at all.
  std::optional<Instruction> decode() {
    Instruction found;
    bool narrow = false, wide = false;
    uint8_t byte = next();
    for (; is_one_of(byte, "\x66\x67\xf2\xf3\xf0\x2e\x36\x3e\x26"); byte = next())
      narrow = narrow || byte == 0x66;
    if ((byte & 0xf0) == 0x40) {
      wide = byte & 8;
      byte = next();
    }
    const bool is_vex = byte == 0xc4 || byte == 0xc5 || byte == 0x62;
    read_opcode(byte, found);
    found.shape = shape_of(found.map, found.opcode, is_vex);
    if (found.shape & refused) return std::nullopt;
    if (found.shape & modrm) read_modrm(found);
    if (found.map == 1 && found.opcode == 0xae && !is_fence(found.modrm)) return std::nullopt;
    read_immediate(found, narrow, wide);
    return good_ ? std::optional(found) : std::nullopt;
  }
  size_t at() const { return at_; }

 private:
  uint8_t next() {
    if (at_ >= code_.size()) {
      good_ = false;
      return 0;
    }
    return static_cast<uint8_t>(code_[at_++]);
  }

  int64_t number(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value |= static_cast<uint64_t>(next()) << (8 * i);
    const int unused = 64 - 8 * bytes;
    return bytes == 0 ? 0 : static_cast<int64_t>(value << unused) >> unused;
  }

  void read_opcode(uint8_t byte, Instruction& found) {
    if (byte == 0xc5) {
      next();
      found.map = 1;
      byte = next();
    } else if (byte == 0xc4) {
      found.map = next() & 0x1f;
      next();
      byte = next();
    } else if (byte == 0x62) {
      found.map = next() & 7;
      next();
      next();
      byte = next();
    } else if (byte == 0x0f) {
      byte = next();
      found.map = byte == 0x38 ? 2 : byte == 0x3a ? 3 : 1;
      if (found.map > 1) byte = next();
    }
    found.opcode = byte;
  }

  void read_modrm(Instruction& found) {
    found.has_modrm = true;
    found.modrm = next();
    const int mode = found.modrm >> 6, base = found.modrm & 7;
    if (mode == 3) return;
    found.rip_relative = mode == 0 && base == 5;
    const bool no_base = base == 4 && (next() & 7) == 5 && mode == 0;
    found.displacement = number(mode == 1 ? 1 : mode == 2 || found.rip_relative || no_base ? 4 : 0);
  }

  void read_immediate(Instruction& found, bool narrow, bool wide) {
    const int word = narrow ? 2 : 4, operation = (found.modrm >> 3) & 7;
    if (found.map == 0 && (found.opcode == 0xf6 || found.opcode == 0xf7) && operation < 2)
      found.immediate = number(found.opcode == 0xf6 ? 1 : word);
    else if (found.map == 0 && found.opcode >= 0xb8 && found.opcode < 0xc0)
      found.immediate = number(wide ? 8 : word);
    else if (found.shape & imm8)
      found.immediate = number(1);
    else if (found.shape & imm_z)
      found.immediate = number(found.shape & rel ? 4 : word);
  }

  std::string_view code_;
  size_t at_;
  bool good_ = true;
};

// A jump or call to where a register or memory says.
bool is_indirect(const Instruction& instruction) {
  const int operation = (instruction.modrm >> 3) & 7;
  return instruction.map == 0 && instruction.opcode == 0xff && operation >= 2 && operation <= 5;
}

}  // namespace

std::string CodeCheck::add(std::string_view code, uint64_t address) {
  for (size_t at = 0; at < code.size();) {
    Decoder decoder(code, at);
    auto instruction = decoder.decode();
    if (!instruction) {
      std::string bytes;
      for (size_t i = at; i < std::min(at + 6, code.size()); ++i)
        bytes += fmt::format(" {:02x}", static_cast<uint8_t>(code[i]));
      return "has an instruction that reaches the system or is not known (bytes" + bytes + ")";
    }
    begins_.insert(address + at);
    at = decoder.at();
    const uint64_t next = address + at;
    if (instruction->shape & rel) targets_.insert(next + static_cast<uint64_t>(instruction->immediate));
    if (!is_indirect(*instruction)) continue;
    const bool through_got = instruction->rip_relative && ((instruction->modrm >> 3) & 7) % 2 == 0 &&
                             is_got_(next + static_cast<uint64_t>(instruction->displacement));
    if (!through_got) return "jumps to a computed address";
  }
  return "";
}

std::string CodeCheck::find_bad_branch() const {
  for (uint64_t target : targets_)
    if (!begins_.count(target)) return "jumps into the middle of an instruction";
  return "";
}

}  // namespace autoperfect
