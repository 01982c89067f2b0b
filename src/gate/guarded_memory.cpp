#include "gate/guarded_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <stdexcept>

namespace autoperfect {
namespace {

struct Guarded {
  uintptr_t begin, end;  // guards included
  uintptr_t data;
  int64_t bytes;
  WorkerReport::Region region;
  int64_t buffer;
};

std::vector<Guarded> guarded;  // complete before the handler is set
WorkerReport* report_to = nullptr;

char* reserve(int64_t size) {
  void* memory = mmap(
      nullptr,
      static_cast<size_t>(size + 2 * page_bytes),
      PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
      -1,
      0);
  if (memory == MAP_FAILED) throw std::runtime_error("no address space");
  return static_cast<char*>(memory);
}

void remember(char* memory, const Arena& arena, WorkerReport::Region region, int64_t buffer) {
  auto begin = reinterpret_cast<uintptr_t>(memory);
  auto data = begin + static_cast<uintptr_t>(page_bytes + arena.data);
  guarded.push_back(
      {begin,
       begin + static_cast<uintptr_t>(arena.size + 2 * page_bytes),
       data,
       arena.bytes,
       region,
       buffer});
}

// A full stack: the access is beside the pointer to its end.
bool is_of_stack([[maybe_unused]] void* context, [[maybe_unused]] uintptr_t address) {
#if defined(__x86_64__)
  constexpr uintptr_t reach = uintptr_t{1} << 20;
  auto top = static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
  return address + reach > top && address < top + reach;
#else
  return false;
#endif
}

bool was_write([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  return static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
  return false;
#endif
}

// Notes where, then returns: the handler is gone by then, and the same instruction ends the process.
void on_fault(int, siginfo_t* info, void* context) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (auto& memory : guarded) {
    if (address < memory.begin || address >= memory.end) continue;
    report_to->fault_region = memory.region;
    report_to->fault_buffer = memory.buffer;
    report_to->fault_offset = static_cast<int64_t>(address - memory.data);
    report_to->fault_bytes = memory.bytes;
    report_to->fault_writes = was_write(context);
    return;
  }
  if (is_of_stack(context, address)) report_to->fault_region = WorkerReport::stack;
}

}  // namespace

char* GuardedMemory::map_file(
    int fd, const Arena& arena, bool writable, WorkerReport::Region region, int64_t buffer) {
  char* memory = reserve(arena.size);
  void* pages = mmap(
      memory + page_bytes,
      static_cast<size_t>(arena.size),
      writable ? PROT_READ | PROT_WRITE : PROT_READ,
      MAP_SHARED | MAP_FIXED,
      fd,
      arena.offset);
  if (pages == MAP_FAILED) throw std::runtime_error("a memory file cannot be mapped");
  remember(memory, arena, region, buffer);
  return memory + page_bytes + arena.data;
}

char* GuardedMemory::allocate(int64_t bytes, WorkerReport::Region region) {
  if (bytes <= 0) return nullptr;
  Arena arena;
  arena.bytes = bytes;
  arena.size = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  arena.data = (arena.size - bytes) / 64 * 64;
  char* memory = reserve(arena.size);
  if (mprotect(memory + page_bytes, static_cast<size_t>(arena.size), PROT_READ | PROT_WRITE) != 0) {
    throw std::runtime_error("no memory");
  }
  remember(memory, arena, region, 0);
  return memory + page_bytes + arena.data;
}

void GuardedMemory::remember_state(uintptr_t begin, uintptr_t end) {
  guarded.push_back({begin, end, begin, static_cast<int64_t>(end - begin), WorkerReport::state, 0});
}

void GuardedMemory::watch_faults(WorkerReport* report) {
  report_to = report;
  // A stack of its own: the fault may be that of a full stack.
  static char handler_stack[1 << 16];
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace autoperfect
