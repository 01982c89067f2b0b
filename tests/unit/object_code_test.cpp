// The machine code of kernels: what is refused though the source compiles.
#include <gtest/gtest.h>

#include "compile/cpu/compile.h"
#include "compile/cpu/instructions.h"
#include "cost/floor.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

#if defined(__x86_64__)

std::string verdict_on(std::string_view code) {
  CodeCheck check([](uint64_t address) { return address == 0x1000; });
  auto found = check.add(code, 0);
  return found.empty() ? check.find_bad_branch() : found;
}

std::string bytes(std::initializer_list<int> list) {
  return std::string(list.begin(), list.end());
}

TEST(ObjectCode, WhatKernelsAreMadeOfIsDecoded) {
  // vmovups zmm0, [rdi+rcx*4]; vaddps ymm1, ymm0, [rip+8]; vextractf128 xmm2, ymm1, 1; movabs rax; test;
  // jne back to the beginning; ret
  EXPECT_EQ(
      verdict_on(bytes({0x62, 0xf1, 0x7c, 0x48, 0x10, 0x04, 0x8f, 0xc5, 0xfc, 0x58, 0x0d, 8,
                        0,    0,    0,    0xc4, 0xe3, 0x7d, 0x19, 0xca, 1,    0x48, 0xb8, 1,
                        2,    3,    4,    5,    6,    7,    8,    0x85, 0xc0, 0x75, 0xdd, 0xc3})),
      "");
  EXPECT_EQ(verdict_on(bytes({0xff, 0x25, 0xfa, 0x0f, 0, 0})), "");  // jmp through 0x1000
}

TEST(ObjectCode, WhatReachesOutIsRefused) {
  const std::string out = "has an instruction that reaches the system or is not known";
  for (auto code :
       {bytes({0x0f, 0x05}),                                // syscall
        bytes({0x0f, 0x34}),                                // sysenter
        bytes({0xcd, 0x80}),                                // int 0x80
        bytes({0x0f, 0x31}),                                // rdtsc
        bytes({0x0f, 0x01, 0xf9}),                          // rdtscp
        bytes({0x0f, 0xa2}),                                // cpuid
        bytes({0x0f, 0xc7, 0xf0}),                          // rdrand
        bytes({0x0f, 0xae, 0x17}),                          // ldmxcsr
        bytes({0x0f, 0xae, 0x3f}),                          // clflush
        bytes({0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}),  // thread-local memory
        bytes({0x48})})
    EXPECT_EQ(verdict_on(code).find(out), 0u) << verdict_on(code);
}

TEST(ObjectCode, JumpsThatDataDecideAreRefused) {
  EXPECT_EQ(verdict_on(bytes({0xff, 0xe0})), "jumps to a computed address");        // jmp rax
  EXPECT_EQ(verdict_on(bytes({0xff, 0x14, 0xc7})), "jumps to a computed address");  // call [rdi+rax*8]
  EXPECT_EQ(verdict_on(bytes({0xff, 0x25, 0, 0, 0, 0})), "jumps to a computed address");
  // mov eax, 0xc3050f; jmp into it
  EXPECT_EQ(
      verdict_on(bytes({0xb8, 0x0f, 0x05, 0xc3, 0, 0xeb, 0xfa})), "jumps into the middle of an instruction");
}

std::string refusal_of(const std::string& body, const std::string& before = "") {
  auto binary = compile_cpu(
      before +
          "\nvoid autoperfect_kernel(const void* const* in, void* const* out, void*, void*, const long*, "
          "long b, "
          "long e) {" +
          body + "}\n",
      *system_compiler());
  return binary ? "" : binary.errors().at(0).code + ": " + binary.errors().at(0).message;
}

TEST(ObjectCode, SourcesThatMakeSuchCodeAreRefused) {
  EXPECT_EQ(refusal_of("asm volatile(\"syscall\");").find("code: "), 0u);
  EXPECT_EQ(refusal_of("*(long*)out[0] = __builtin_ia32_rdtsc();").find("code: "), 0u);
  EXPECT_EQ(
      refusal_of("void (*f)() = (void (*)())in[0]; f();"), "code: the kernel jumps to a computed address");
  EXPECT_NE(
      refusal_of("((void (*)())table)();", "static const unsigned char table[] = {0x0f, 0x05, 0xc3};"), "");
  EXPECT_EQ(
      refusal_of(
          "fs[b]((float*)out[0]);",
          "static void f(float* y) { *y = 1; }\nstatic void g(float* y) { *y = 2; }\n"
          "static void (*const fs[])(float*) = {f, g};")
          .find("code: "),
      0u);
}

TEST(ObjectCode, HonestConstructsAreNot) {
  // A constant that looks like a system call, a switch, calls of functions and of libm.
  EXPECT_EQ(refusal_of("*(int*)out[0] = *(const int*)in[0] + 0xc3050f;"), "");
  EXPECT_EQ(
      refusal_of(
          "int* y = (int*)out[0]; switch (*(const int*)in[0]) { case 0: *y = 5; break; case 1: *y = f(7); "
          "break; case "
          "2: *y = f(1); break; case 3: *y = 17; break; case 4: *y = f(99); break; case 5: *y = "
          "(int)__builtin_expf(*y); "
          "break; }",
          "__attribute__((noinline)) static int f(int n) { return n * n + 1; }"),
      "");
}

#endif

// --- the physical floor

Kernel copy_of(const std::string& size) {
  const std::string text = "autoperfect.kernel 1\nkernel @copy {\n  abi {\n    in %x: f32[" + size +
                           "] row\n    out %y: f32[" + size + "] row\n  }\n  math {\n    axes i=" + size +
                           "\n    %y[i] = neg %x[i] : f32\n  }\n  numerics {\n    accumulate f32\n    "
                           "reassociate yes\n    budget ulp=4.0 abs=0.0 rel=0.0\n  }\n}\n";
  auto kernel = parse_kernel(text);
  if (!kernel) throw std::runtime_error(format(kernel.errors(), text));
  return *kernel;
}

TEST(PhysicalFloor, IsTheTimeBytesNeedAtBest) {
  Target target;
  target.threads = 2;
  target.lanes = 16;
  target.copy_bytes_per_second = 50e9;
  target.flops_per_second = 200e9;
  // 800 MB at four times 50 GB/s.
  EXPECT_DOUBLE_EQ(physical_floor_seconds(copy_of("100000000"), target), 8e8 / 200e9);
  // 8 KB in the first level: three bytes a flop at 512 GFLOP/s.
  EXPECT_DOUBLE_EQ(physical_floor_seconds(copy_of("1000"), target), 8e3 / (3 * 512e9));
  // A machine that was busy when it was measured.
  target.copy_bytes_per_second = 1e9;
  EXPECT_DOUBLE_EQ(physical_floor_seconds(copy_of("100000000"), target), 8e8 / 100e9);
}

TEST(PhysicalFloor, CountsProducts) {
  const std::string text =
      "autoperfect.kernel 1\nkernel @product {\n  abi {\n    in %a: f32[512,512] row\n    in %b: "
      "f32[512,512] row\n    "
      "out %c: f32[512,512] row\n  }\n  math {\n    axes i=512, j=512, k=512\n    %c[i,j] = matmul(k) "
      "%a[i,k], "
      "%b[k,j] : f32\n  }\n  numerics {\n    accumulate f32\n    reassociate yes\n    budget ulp=4.0 abs=0.0 "
      "rel=0.0\n  }\n}\n";
  auto kernel = parse_kernel(text);
  ASSERT_TRUE(kernel) << format(kernel.errors(), text);
  Target target;
  target.threads = 1;
  target.lanes = 16;
  target.flops_per_second = 100e9;
  EXPECT_DOUBLE_EQ(physical_floor_seconds(*kernel, target), 2.0 * 512 * 512 * 512 / 256e9);
}

}  // namespace
}  // namespace autoperfect
