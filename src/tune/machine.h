// The description of this machine that costs and reports rest on: measured once, in a fraction of a second,
// and kept in the cache directory. What is read back is trusted no more than any file there: checksum, ranges
// and the machine it was measured on are checked, or it is measured again.
#pragma once

#include <optional>
#include <string>

#include "cost/target.h"
#include "support/result.h"

namespace autoperfect {

const Target& this_machine();

// Bytes per second, read plus written, of a streaming copy over all cores, measured now: for figures taken
// side by side.
double measured_copy_limit();

// Measures again and keeps the better of each figure: what was measured while the machine was busy is too
// low.
Target remeasure_machine();

// The first NVIDIA GPU, for which kernels are built where MLX computes on it: what its driver says and what
// was measured. Errors where there is none.
const Result<Target>& this_gpu();

// Seconds one small op takes in MLX, on the CPU or the GPU. Only layers that include MLX can know: they set
// it before the machine is asked for; without it the default stays.
using MlxProbe = double (*)(bool on_gpu);
void set_mlx_probe(MlxProbe probe);

MlxProbe mlx_probe();  // null: nobody knows

// The description kept under that name in the cache directory.
std::optional<Target> read_kept_machine(const char* file, const Target& on, const std::string& identity);
void keep_machine(const char* file, const Target& target, const std::string& identity);

// The kept text; parsing gives none for a text that is damaged, out of range or of another machine.
std::string machine_text(const Target& target, const std::string& identity);
std::optional<Target> parse_machine(const std::string& text, Target on, const std::string& identity);

}  // namespace autoperfect
