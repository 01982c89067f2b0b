// Every word, number and call of a draft against the list of its language: what is neither on it nor declared
// in the draft itself is an error, whatever it may mean.
#pragma once

#include "check/abi.h"
#include "check/parser.h"

namespace autoperfect::code {

// `whole`: all of it could be parsed; otherwise it may declare more than is known, and only calls are asked
// about.
void check_names(
    const Program& program, const Vocabulary& vocabulary, const Abi& abi, bool whole, Errors& errors);

// All that a statement declares, in it and below.
void collect_declared(const Statement& statement, std::vector<const Declared*>& declared);

}  // namespace autoperfect::code
