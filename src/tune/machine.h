// The description of this machine that costs and reports rest on: measured once, in a fraction of a second,
// and kept in the cache directory. What is read back is trusted no more than any file there: checksum, ranges
// and the machine it was measured on are checked, or it is measured again.
#pragma once

#include <optional>
#include <string>

#include "cost/target.h"

namespace autoperfect {

const Target& this_machine();

// Bytes per second, read plus written, of a streaming copy over all cores, measured now: for figures taken
// side by side.
double measured_copy_limit();

// Measures again and keeps the better of each figure: what was measured while the machine was busy is too
// low.
Target remeasure_machine();

// Seconds one small op takes in MLX. Only layers that include MLX can know: they set it before the machine is
// asked for; without it the default stays.
using MlxProbe = double (*)();
void set_mlx_probe(MlxProbe probe);

// The kept text; parsing gives none for a text that is damaged, out of range or of another machine.
std::string machine_text(const Target& target, const std::string& identity);
std::optional<Target> parse_machine(const std::string& text, Target on, const std::string& identity);

}  // namespace autoperfect
