// The prelude in the order in which its files precede a kernel, for tests and editors. The product
// concatenates the same files (sorted by name) into the kernel's text, because a kernel is compiled with no
// include path.

#include "compile/cpu/prelude/00_types.h"
#include "compile/cpu/prelude/01_select.h"
#include "compile/cpu/prelude/02_convert.h"
#include "compile/cpu/prelude/03_memory.h"
#include "compile/cpu/prelude/04_float.h"
#include "compile/cpu/prelude/05_exp.h"
#include "compile/cpu/prelude/06_log.h"
#include "compile/cpu/prelude/07_trig.h"
#include "compile/cpu/prelude/08_scalar.h"
#include "compile/cpu/prelude/09_integer.h"
#include "compile/cpu/prelude/10_reduce.h"
#include "compile/cpu/prelude/11_kernel.h"
#include "compile/cpu/prelude/12_index.h"
#include "compile/cpu/prelude/13_matmul.h"
#include "compile/cpu/prelude/14_scan.h"
