// Small measurements of the processor, each some milliseconds and the best of several: a noisy neighbour
// makes a figure lower, never higher.
#pragma once

#include <cstdint>

namespace autoperfect {

// f32 FMA over all threads in as many independent chains as hide their latency; an FMA is two flops.
double probe_flops_per_second(int threads);

// Bytes read and bytes written of a copy of `bytes` with streaming stores over all threads. 0: no memory.
double probe_copy_bytes_per_second(int64_t bytes, int threads);

// An empty kernel through the thread pool.
double probe_launch_seconds(int threads);

}  // namespace autoperfect
