#include "gate/watch.h"

#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace autoperfect {
namespace {

constexpr uintptr_t shadow_offset = 0x7fff8000;  // as compiled in: compile/cpu/compile.cpp
constexpr uintptr_t granule = 8;                 // bytes of memory that a byte of shadow stands for
constexpr size_t most_regions = 1024;
constexpr int64_t near_bytes = int64_t{1} << 20;

// What the compiler tells of each constant table.
struct Table {
  uintptr_t begin, size, size_with_red_zone;
  uintptr_t unused[5];
};

struct State {
  WorkerReport* report = nullptr;
  LoadedRange object;
  uintptr_t stack_begin = 0, stack_end = 0;
  std::vector<Table> tables;
  std::vector<WatchedRegion> regions;
  size_t last = 0;  // region of the latest access
};
State state;

signed char* shadow_of(uintptr_t address) {
  return reinterpret_cast<signed char*>(address / granule + shadow_offset);
}

[[noreturn]] void stop() {
  _exit(4);
}

[[noreturn]] void report_access(uintptr_t address, size_t size, bool writes) {
  auto& report = *state.report;
  report.watched = 1;
  report.fault_writes = writes;
  report.fault_region = WorkerReport::nowhere;
  if (address >= state.stack_begin && address < state.stack_end) report.fault_region = WorkerReport::stack;
  if (address >= state.object.begin && address < state.object.end) report.fault_region = WorkerReport::table;
  if (report.fault_region != WorkerReport::nowhere) stop();
  int64_t nearest = near_bytes;
  for (auto& region : state.regions) {
    const auto past_end = static_cast<int64_t>(address + size - region.end);
    const auto before = static_cast<int64_t>(region.begin - address);
    const int64_t distance = std::max<int64_t>({0, past_end, before});
    if (distance >= nearest) continue;
    nearest = distance;
    report.fault_region = region.region;
    report.fault_buffer = region.buffer;
    report.fault_bytes = static_cast<int64_t>(region.end - region.begin);
    // The first byte outside, where the access begins inside.
    const auto offset = static_cast<int64_t>(address - region.begin);
    report.fault_offset = before > 0 || past_end <= 0 ? offset : std::max(offset, report.fault_bytes);
  }
  stop();
}

bool stack_is_clean(uintptr_t address, size_t size) {
  for (uintptr_t at = address / granule * granule; at < address + size; at += granule) {
    const signed char shadow = *shadow_of(at);
    const uintptr_t end = std::min(address + size, at + granule);
    if (shadow != 0 && static_cast<intptr_t>(end - at) > shadow) return false;
  }
  return true;
}

bool in_red_zone(uintptr_t address, size_t size) {
  for (auto& table : state.tables) {
    const uintptr_t end = table.begin + table.size, zone_end = table.begin + table.size_with_red_zone;
    if (address < zone_end && address + size > end) return true;
  }
  return false;
}

void check(uintptr_t address, size_t size, bool writes) {
  auto holds = [&](const WatchedRegion& region) {
    return address >= region.begin && address + size <= region.end && (region.writable || !writes);
  };
  if (state.last < state.regions.size() && holds(state.regions[state.last])) return;
  for (size_t i = 0; i < state.regions.size(); ++i) {
    if (!holds(state.regions[i])) continue;
    state.last = i;
    return;
  }
  const bool on_stack = address >= state.stack_begin && address + size <= state.stack_end;
  if (on_stack && stack_is_clean(address, size)) return;
  const bool in_object = address >= state.object.begin && address + size <= state.object.end;
  if (in_object && !writes && !in_red_zone(address, size)) return;
  if (size > 0) report_access(address, size, writes);
}

// The first field of what the compiler hands to every handler.
struct SourceLocation {
  const char* file;
  uint32_t line, column;
};

[[noreturn]] void report_behaviour(const void* data, const char* what) {
  auto& report = *state.report;
  report.watched = 2;
  report.line = data ? static_cast<const SourceLocation*>(data)->line : 0;
  std::strncpy(report.behaviour, what, sizeof report.behaviour - 1);
  stop();
}

struct Search {
  uintptr_t code;
  bool seal;
  LoadedRange found;
};

int visit_object(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  LoadedRange range{UINTPTR_MAX, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    range.begin = std::min<uintptr_t>(range.begin, info->dlpi_addr + segment.p_vaddr);
    range.end = std::max<uintptr_t>(range.end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  if (search.code < range.begin || search.code >= range.end) return 0;
  search.found = range;
  for (int i = 0; search.seal && i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W)) continue;
    const auto page = static_cast<uintptr_t>(page_bytes);
    const uintptr_t begin = (info->dlpi_addr + segment.p_vaddr) / page * page;
    const uintptr_t end = (info->dlpi_addr + segment.p_vaddr + segment.p_memsz + page - 1) / page * page;
    mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ);
  }
  return 1;
}

}  // namespace

LoadedRange loaded_range(const void* code, bool seal) {
  Search search{reinterpret_cast<uintptr_t>(code), seal, {}};
  dl_iterate_phdr(visit_object, &search);
  return search.found;
}

void Watch::begin(WorkerReport* report, const void* code) {
  state.report = report;
  state.object = loaded_range(code, false);
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  state.stack_end = here;
  state.stack_begin = here - stack.rlim_cur;
  const auto page = static_cast<uintptr_t>(page_bytes);
  auto first = reinterpret_cast<uintptr_t>(shadow_of(state.stack_begin)) / page * page;
  auto last = (reinterpret_cast<uintptr_t>(shadow_of(state.stack_end)) / page + 2) * page;
  void* shadow = mmap(
      reinterpret_cast<void*>(first),
      last - first,
      PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
      -1,
      0);
  state.regions.reserve(most_regions);
  if (shadow == MAP_FAILED) throw std::runtime_error("no address space to watch the stack");
}

void Watch::add_region(const WatchedRegion& region) {
  if (state.regions.size() == state.regions.capacity()) throw std::runtime_error("too many buffers to watch");
  state.regions.push_back(region);
}

void Watch::forget_regions() {
  state.regions.clear();
  state.last = 0;
  std::memset(shadow_of(state.stack_begin), 0, (state.stack_end - state.stack_begin) / granule);
}

}  // namespace autoperfect

// An instrumented program brings its own.
#if !defined(__SANITIZE_ADDRESS__)

using autoperfect::check;
using autoperfect::report_behaviour;

#define WATCHED_ACCESS(size)                   \
  void __asan_load##size(uintptr_t address) {  \
    check(address, size, false);               \
  }                                            \
  void __asan_store##size(uintptr_t address) { \
    check(address, size, true);                \
  }

#define WATCHED_BEHAVIOUR(name, text)            \
  void __ubsan_handle_##name(const void* data) { \
    report_behaviour(data, text);                \
  }

extern "C" {
WATCHED_ACCESS(1)
WATCHED_ACCESS(2)
WATCHED_ACCESS(4)
WATCHED_ACCESS(8)
WATCHED_ACCESS(16)
void __asan_loadN(uintptr_t address, size_t size) {
  check(address, size, false);
}
void __asan_storeN(uintptr_t address, size_t size) {
  check(address, size, true);
}
void __asan_handle_no_return() {}
void __asan_register_globals(const autoperfect::Table* tables, size_t count) {
  autoperfect::state.tables.assign(tables, tables + count);
}
void __asan_unregister_globals(const autoperfect::Table*, size_t) {}
void* __asan_memcpy(void* to, const void* from, size_t size) {
  check(reinterpret_cast<uintptr_t>(from), size, false);
  check(reinterpret_cast<uintptr_t>(to), size, true);
  return std::memcpy(to, from, size);
}
void* __asan_memmove(void* to, const void* from, size_t size) {
  check(reinterpret_cast<uintptr_t>(from), size, false);
  check(reinterpret_cast<uintptr_t>(to), size, true);
  return std::memmove(to, from, size);
}
void* __asan_memset(void* to, int byte, size_t size) {
  check(reinterpret_cast<uintptr_t>(to), size, true);
  return std::memset(to, byte, size);
}

WATCHED_BEHAVIOUR(add_overflow_abort, "an integer overflow")
WATCHED_BEHAVIOUR(sub_overflow_abort, "an integer overflow")
WATCHED_BEHAVIOUR(mul_overflow_abort, "an integer overflow")
WATCHED_BEHAVIOUR(negate_overflow_abort, "an integer overflow")
WATCHED_BEHAVIOUR(divrem_overflow_abort, "a division by zero, or one that overflows")
WATCHED_BEHAVIOUR(shift_out_of_bounds_abort, "a shift by more bits than there are")
WATCHED_BEHAVIOUR(out_of_bounds_abort, "an index outside its array")
WATCHED_BEHAVIOUR(vla_bound_not_positive_abort, "an array without elements")
WATCHED_BEHAVIOUR(
    type_mismatch_v1_abort, "an access through a null or misaligned pointer, or past its object")
WATCHED_BEHAVIOUR(alignment_assumption_abort, "an alignment assumed that is not there")
WATCHED_BEHAVIOUR(pointer_overflow_abort, "a pointer moved out of the address space")
WATCHED_BEHAVIOUR(load_invalid_value_abort, "a bool or enumeration that holds no value of its type")
WATCHED_BEHAVIOUR(float_cast_overflow_abort, "a cast of a number to a type that cannot hold it")
WATCHED_BEHAVIOUR(invalid_builtin_abort, "a count of zero bits in zero")
WATCHED_BEHAVIOUR(nonnull_arg_abort, "a null argument")
WATCHED_BEHAVIOUR(builtin_unreachable, "code said to be unreachable")
WATCHED_BEHAVIOUR(missing_return, "a function that returns nothing")
}

#endif
