// Which way a program runs as a whole: decided by times alone, kept, and never by a byte that is damaged.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cost/target.h"
#include "ir/graph_text.h"
#include "mlx/mlx.h"
#include "pipeline/whole.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

Timing timing(Way way, double median) {
  return {std::string(name(way)), median, median, median, 9};
}

TEST(Whole, OursStaysUnlessAnotherIsClearlyFaster) {
  EXPECT_EQ(
      fastest_way({timing(Way::ours, 100), timing(Way::compiled, 98), timing(Way::eager, 99)}), Way::ours);
  EXPECT_EQ(
      fastest_way({timing(Way::ours, 100), timing(Way::compiled, 90), timing(Way::eager, 89)}),
      Way::compiled);
  EXPECT_EQ(
      fastest_way({timing(Way::ours, 100), timing(Way::compiled, 110), timing(Way::eager, 80)}), Way::eager);
}

TEST(Whole, WithoutKernelsItIsCompiledUnlessEagerIsClearlyFaster) {
  EXPECT_EQ(fastest_way({timing(Way::compiled, 100), timing(Way::eager, 99)}), Way::compiled);
  EXPECT_EQ(fastest_way({timing(Way::compiled, 100), timing(Way::eager, 50)}), Way::eager);
}

TEST(Whole, AWayThatFailedIsNotTaken) {
  auto failed = timing(Way::ours, 1);
  failed.failed = true;
  EXPECT_EQ(fastest_way({failed, timing(Way::compiled, 100), timing(Way::eager, 100)}), Way::compiled);
}

// Our kernels lose where they lose twice.
TEST(Whole, ThatOursLoseIsMeasuredTwice) {
  using Times = std::vector<Timing>;
  const Times lose{timing(Way::ours, 100), timing(Way::compiled, 110), timing(Way::eager, 60)};
  const Times win{timing(Way::ours, 70), timing(Way::compiled, 110), timing(Way::eager, 90)};
  const Times without{timing(Way::compiled, 110), timing(Way::eager, 60)};
  auto decided = [](const std::vector<Times>& measured, size_t times) {
    size_t count = 0;
    const Way way = fastest_way(confirmed([&] { return measured.at(count++); }));
    EXPECT_EQ(count, times);
    return way;
  };
  EXPECT_EQ(decided({win}, 1), Way::ours);
  EXPECT_EQ(decided({lose, win}, 2), Way::ours);
  EXPECT_EQ(decided({lose, lose}, 2), Way::eager);
  EXPECT_EQ(decided({without}, 1), Way::eager);
  EXPECT_TRUE(confirmed([] { return Times{}; }).empty());
}

// Ways that give the same numbers and wait for as long as they are told.
struct Slow {
  int calls = 0;
  int made = 0;
  ProgramWays::Maker way(int milliseconds) {
    return [this, milliseconds]() -> ArrayFunction {
      ++made;
      return [this, milliseconds](const Arrays& arrays) {
        ++calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        return Arrays{arrays[0] + mx::array(1.0f)};
      };
    };
  }
};

std::string fresh_key(const std::string& text) {
  static int count = 0;
  return text + std::to_string(count++) +
         std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
}

TEST(Whole, TheFastestIsFoundAndRemembered) {
  Slow ours, compiled, eager;
  ProgramWays ways{ours.way(9), compiled.way(3), eager.way(6)};
  Arrays arrays = {mx::ones({4})};
  const auto key = fresh_key("whole test");
  auto found = decide_whole(key, ways, arrays);
  EXPECT_EQ(found.way, Way::compiled);
  EXPECT_FALSE(found.from_cache);
  ASSERT_EQ(found.timings.size(), 3u);
  EXPECT_GE(found.timings[0].median, 9e-3);
  EXPECT_LT(found.timings[1].median, found.timings[0].median);
  int calls = ours.calls;
  auto again = decide_whole(key, ways, arrays);
  EXPECT_EQ(again.way, Way::compiled);
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(again.timings.size(), 3u);
  EXPECT_EQ(ours.calls, calls) << "a remembered decision is measured again";
  EXPECT_EQ(ours.made, 1) << "a way is made again";
  ProgramWays later{ours.way(9), compiled.way(3), eager.way(6)};
  EXPECT_EQ(decide_whole(key, later, arrays).way, Way::compiled);
  EXPECT_EQ(ours.made + compiled.made + eager.made, 3) << "a way is made that nobody runs";
}

TEST(Whole, LongCallsAreNotTimed) {
  Slow ours, compiled, eager;
  ProgramWays ways{ours.way(1), compiled.way(1), eager.way(300)};
  Arrays arrays = {mx::ones({4})};
  const auto key = fresh_key("whole test, long");
  auto found = decide_whole(key, ways, arrays);
  EXPECT_EQ(found.way, Way::ours);
  EXPECT_TRUE(found.timings.empty());
  EXPECT_EQ(ours.calls, 0);
  EXPECT_EQ(eager.calls, 2);
  auto again = decide_whole(key, ways, arrays);
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(again.way, Way::ours);
  EXPECT_EQ(eager.calls, 2);
}

Graph parsed(const std::string& body) {
  auto graph = parse_graph("autoperfect.graph 1\n" + body);
  EXPECT_TRUE(graph) << format(graph.errors());
  return graph ? *graph : Graph{};
}

TEST(Whole, WhatOthersTakePartInIsNotRunToBeTimed) {
  auto plain = parsed("graph @f(%x: f32[4]) {\n  %y = exp %x : f32[4]\n  return %y\n}\n");
  auto shared = parsed("graph @f(%x: f32[4]) {\n  %y = all_reduce %x key=0 : f32[4]\n  return %y\n}\n");
  Arrays arrays = {mx::ones({4})};
  EXPECT_TRUE(may_be_timed(plain, arrays));
  EXPECT_FALSE(may_be_timed(shared, arrays));
}

TEST(Whole, OneOperationHasNothingToBeFusedWith) {
  const std::string one =
      "graph @f(%x: f32[4,6]) {\n  %t = transpose %x axes=[1, 0] : f32[6,4]\n  %y = exp %t : f32[6,4]\n";
  EXPECT_FALSE(has_something_to_fuse(parsed(one + "  return %y\n}\n")));
  EXPECT_TRUE(has_something_to_fuse(parsed(one + "  %z = log %y : f32[6,4]\n  return %z\n}\n")));
}

TEST(Whole, NothingIsTimedInsideATransformation) {
  auto plain = parsed("graph @f(%x: f32[4]) {\n  %y = exp %x : f32[4]\n  return %y\n}\n");
  bool timed = true;
  mx::grad([&](const mx::array& x) {
    timed = may_be_timed(plain, {x});
    return mx::sum(mx::exp(x));
  })(mx::ones({4}));
  EXPECT_FALSE(timed);
}

TEST(Whole, TheKeyTellsProgramsKernelsAndTargetsApart) {
  auto exp = parsed("graph @f(%x: f32[4]) {\n  %y = exp %x : f32[4]\n  return %y\n}\n");
  auto log = parsed("graph @f(%x: f32[4]) {\n  %y = log %x : f32[4]\n  return %y\n}\n");
  Target one, two;
  two.name = one.name + "x";
  RegionOutcome mlx, kernel, other;
  kernel.use_mlx = other.use_mlx = false;
  kernel.winner.source = "a";
  other.winner.source = "b";
  EXPECT_EQ(whole_key(exp, {mlx}, {}, one), whole_key(exp, {mlx}, {}, one));
  EXPECT_NE(whole_key(exp, {mlx}, {}, one), whole_key(log, {mlx}, {}, one));
  EXPECT_NE(whole_key(exp, {mlx}, {}, one), whole_key(exp, {mlx}, {}, two));
  EXPECT_NE(whole_key(exp, {mlx}, {}, one), whole_key(exp, {kernel}, {}, one));
  EXPECT_NE(whole_key(exp, {kernel}, {}, one), whole_key(exp, {other}, {}, one));
  AttentionOutcome used, unused;
  used.used = true;
  EXPECT_NE(whole_key(exp, {mlx}, {used}, one), whole_key(exp, {mlx}, {unused}, one));
}

// On the CPU, where only tests time the whole.
TEST(Whole, AProgramRunsTheWayThatWasChosenWithTheSameNumbers) {
  CompileOptions options;
  options.time_whole = true;
  options.strict = true;
  auto fn = [](const Arrays& arrays) {
    auto e = mx::exp(arrays[0] - mx::max(arrays[0], -1, true));
    return Arrays{e / mx::sum(e, -1, true)};
  };
  Arrays arrays = {mx::random::normal({64, 96}, mx::random::key(1))};
  auto program = Program::build(fn, arrays, options);
  const auto& whole = program->whole();
  EXPECT_FALSE(whole.timings.empty());
  EXPECT_EQ(whole.way, fastest_way(whole.timings));
  EXPECT_EQ(program->plain(), whole.way != Way::ours);
  EXPECT_TRUE(mx::allclose(program->call(arrays)[0], fn(arrays)[0], 1e-5, 1e-6).item<bool>());
  EXPECT_NE(explain(*program).find("the whole program runs "), std::string::npos);
}

TEST(Whole, WithoutKernelsAProgramRunsAsItWasCaptured) {
  CompileOptions options;
  options.time_whole = true;
  options.strict = true;
  options.fuse.can_generate = [](const Graph&, const Region&) { return false; };
  const auto table = mx::arange(0.0, 96.0, mx::float32);  // a constant of the program
  mx::eval(table);
  auto fn = [&](const Arrays& arrays) {
    auto sorted = mx::sort(arrays[0], -1);
    return Arrays{mx::take(table, mx::argsort(sorted, -1)), mx::transpose(sorted), arrays[0]};
  };
  Arrays arrays = {mx::random::normal({64, 96}, mx::random::key(1))};
  auto program = Program::build(fn, arrays, options);
  EXPECT_TRUE(program->plain());
  EXPECT_NE(program->whole().way, Way::ours);
  auto ours = program->call(arrays), theirs = fn(arrays);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_TRUE(mx::array_equal(ours[i], theirs[i]).item<bool>()) << i;
}

}  // namespace
}  // namespace autoperfect
