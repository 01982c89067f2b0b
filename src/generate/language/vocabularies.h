// The tables, one a file.
#pragma once

#include "generate/language/vocabulary.h"

namespace autoperfect {

const Vocabulary& cpu_vocabulary();
const Vocabulary& cuda_vocabulary();
const Vocabulary& metal_vocabulary();

}  // namespace autoperfect
