// The elements of one pack being written: what is done once a pack, then a loop over its elements.
#pragma once

#include <map>
#include <string>

#include "generate/schedule/cuda/body.h"
#include "generate/schedule/scope.h"

namespace autoperfect::schedule::cuda {

struct Body::Scope {
  int sweep;
  int depth;                                            // inside the loop over elements
  bool inlined = false;                                 // loads are part of what is computed from them
  bool pairs = false;                                   // two elements at once
  std::map<int, std::string> values = {};               // of the element
  std::map<int, std::string> loads = {};                // of the element
  std::map<int, std::string> packs = {}, scanned = {};  // for good
  std::string done = {}, pre = {}, text = {}, post = {};

  void statement(const std::string& line) { text += indent(depth) + line + "\n"; }
  void before(const std::string& line) { pre += indent(depth - 1) + line + "\n"; }
  void after(const std::string& line) { post += indent(depth - 1) + line + "\n"; }

  // Ends the loop over elements: what follows is written behind it.
  std::string close() {
    std::string outside = indent(depth - 1);
    done += pre;
    if (!text.empty())
      done += outside + "#pragma unroll\n" + outside + "for (int l = 0; l < P; " +
              (pairs ? "l += 2" : "++l") + ") {\n" + text + outside + "}\n";
    done += post;
    pre.clear(), text.clear(), post.clear();
    values = scanned, loads.clear();
    return done;
  }
};

}  // namespace autoperfect::schedule::cuda
