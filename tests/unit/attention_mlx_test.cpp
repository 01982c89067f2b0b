// Attention that a program wrote out runs as MLX's library call where that is proved, and only there.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "canonicalize/canonicalize.h"
#include "ir/graph_text.h"
#include "lower/attention_call.h"
#include "written_attention.h"

namespace autoperfect {
namespace {

class AttentionIn : public testing::TestWithParam<mx::Dtype> {};

TEST_P(AttentionIn, plain) {
  auto dtype = GetParam();
  expect_used(
      [](const Arrays& a) { return Arrays{attend(a[0], a[1], a[2], 0.25, unmasked)}; },
      {normal({2, 3, 5, 16}, dtype, 1), normal({2, 3, 9, 16}, dtype, 2), normal({2, 3, 9, 8}, dtype, 3)},
      allowed_in(dtype));
}

TEST_P(AttentionIn, causal) {
  auto dtype = GetParam();
  expect_used(
      [](const Arrays& a) {
        return Arrays{attend(a[0], a[1], a[2], 0.25, [](auto s) { return causal(s, lowest_of(s)); })};
      },
      {normal({2, 3, 7, 16}, dtype, 1), normal({2, 3, 9, 16}, dtype, 2), normal({2, 3, 9, 16}, dtype, 3)},
      allowed_in(dtype));
}

TEST_P(AttentionIn, with_a_mask_that_is_added) {
  auto dtype = GetParam();
  expect_used(
      [](const Arrays& a) {
        return Arrays{attend(a[0], a[1], a[2], 0.25, [&](auto s) { return mx::add(s, a[3]); })};
      },
      {normal({2, 3, 7, 16}, dtype, 1),
       normal({2, 3, 9, 16}, dtype, 2),
       normal({2, 3, 9, 16}, dtype, 3),
       normal({7, 9}, dtype, 4)},
      allowed_in(dtype));
}

Arrays masked_arguments(mx::Dtype dtype) {
  return {
      normal({2, 3, 7, 16}, dtype, 1),
      normal({2, 3, 9, 16}, dtype, 2),
      normal({2, 3, 9, 16}, dtype, 3),
      mx::random::bernoulli(0.7f, {2, 1, 7, 9}, mx::random::key(4))};
}

ArrayFunction attention_where(double forbidden) {
  return [forbidden](const Arrays& a) {
    return Arrays{
        attend(a[0], a[1], a[2], 0.25, [&](auto s) { return mx::where(a[3], s, scalar(forbidden, s)); })};
  };
}

TEST_P(AttentionIn, where_a_mask_says) {
  const auto dtype = GetParam();
  const auto arguments = masked_arguments(dtype);
  expect_used(attention_where(lowest_of(arguments[0])), arguments, allowed_in(dtype));
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, AttentionIn, testing::Values(mx::float32, mx::float16, mx::bfloat16), [](const auto& info) {
      return std::string(name(from_mlx(info.param)));
    });

// A row that sees nothing is NaN as it is written, and an average in MLX's call.
TEST(Attention, RowsThatSeeNothingAreToldApart) {
  auto program = built(attention_where(-infinity), masked_arguments(mx::float32));
  ASSERT_EQ(program->attentions().size(), 1u);
  const auto& outcome = program->attentions()[0];
  EXPECT_FALSE(outcome.used);
  EXPECT_EQ(outcome.reason, "its numbers are others");
  ASSERT_EQ(outcome.rejected.size(), 3u);
  EXPECT_TRUE(outcome.rejected[0].starts_with("a mask of bools: rows that see nothing: "))
      << outcome.rejected[0];
  for (size_t form : {1, 2})
    EXPECT_NE(outcome.rejected[form].find(": NaN in k: "), std::string::npos) << outcome.rejected[form];
  EXPECT_FALSE(program->plan().regions.empty()) << "what stays as it is written is fused as ever";
}

// A library that gives zeros for rows that see nothing can be told to give NaN.
TEST(Attention, NanForRowsThatSeeNothing) {
  auto arguments = masked_arguments(mx::float32);
  arguments[3] = mx::where(arguments[3], array(0.5f), array(-infinity));
  arguments[3] =
      mx::where(mx::expand_dims(mx::equal(mx::arange(7), array(3)), 1), array(-infinity), arguments[3]);
  auto fn = [](const Arrays& a) {
    return Arrays{attend(a[0], a[1], a[2], 0.25, [&](auto s) { return mx::add(s, a[3]); })};
  };
  const Graph graph = canonicalize(capture(fn, arguments).graph).graph;
  const auto match = recognize_attention(graph).at(0);
  const auto call = *write_call(graph, match, sizes_of(graph, match));
  ASSERT_EQ(call.library.size(), 2u);
  EXPECT_EQ(call.forms[1], "a mask of numbers, NaN in rows that see nothing");
  const auto text = print(call.library[1]);
  EXPECT_TRUE(parse_graph(text).ok()) << text;
  const auto right = fn(arguments)[0];
  arguments[1] = mx::swapaxes(arguments[1], -1, -2);
  const auto got = interpret(call.library[1], arguments)[0];
  EXPECT_TRUE(mx::array_equal(mx::isnan(right), mx::isnan(got)).item<bool>());
  EXPECT_EQ(mx::sum(mx::isnan(got)).item<int>(), 2 * 3 * 16);
  EXPECT_LE(largest_difference(mx::nan_to_num(right), mx::nan_to_num(got)), 1e-5);
}

// 6 heads of q share 2 of k and v, in the ways people write that.
TEST(Attention, GroupedHeads) {
  const Arrays arguments{
      normal({2, 6, 5, 16}, mx::float32, 1),
      normal({2, 2, 9, 16}, mx::float32, 2),
      normal({2, 2, 9, 8}, mx::float32, 3)};
  auto regrouped = [](const Arrays& a) {
    auto q = mx::reshape(a[0], {2, 2, 3, 5, 16});
    auto mixed = attend(q, mx::expand_dims(a[1], 2), mx::expand_dims(a[2], 2), 0.25, [](auto s) {
      return causal(s, lowest_of(s));
    });
    return Arrays{mx::reshape(mixed, {2, 6, 5, 8})};
  };
  auto repeated = [](const Arrays& a) {
    return Arrays{attend(a[0], mx::repeat(a[1], 3, 1), mx::repeat(a[2], 3, 1), 0.25, unmasked)};
  };
  auto one_for_all = [](const Arrays& a) {
    auto k = mx::slice(a[1], {0, 0, 0, 0}, {2, 1, 9, 16}), v = mx::slice(a[2], {0, 0, 0, 0}, {2, 1, 9, 8});
    return Arrays{attend(a[0], k, v, 0.25, unmasked)};
  };
  auto batches_share = [](const Arrays& a) {
    auto k = mx::slice(a[1], {0, 0, 0, 0}, {1, 1, 9, 16}), v = mx::slice(a[2], {0, 0, 0, 0}, {1, 1, 9, 8});
    return Arrays{attend(a[0], k, v, 0.25, unmasked)};
  };
  expect_used(regrouped, arguments, 1e-5);
  expect_used(repeated, arguments, 1e-5);
  expect_used(one_for_all, arguments, 1e-5);
  expect_used(batches_share, arguments, 1e-5);
}

TEST(Attention, OfOtherRanks) {
  auto plain = [](const Arrays& a) { return Arrays{attend(a[0], a[1], a[2], 0.25, unmasked)}; };
  auto with_mask = [](const Arrays& a) {
    return Arrays{attend(a[0], a[1], a[2], 0.25, [&](auto s) { return mx::add(s, a[3]); })};
  };
  auto of = [](mx::Shape lead, mx::Shape mask) {
    auto with = [&](int rows, int columns, uint64_t key) {
      auto shape = lead;
      shape.push_back(rows);
      shape.push_back(columns);
      return normal(shape, mx::float32, key);
    };
    return Arrays{with(5, 16, 1), with(9, 16, 2), with(9, 8, 3), normal(std::move(mask), mx::float32, 4)};
  };
  auto some = of({}, {9});
  some.pop_back();
  expect_used(plain, some, 1e-5);
  expect_used(with_mask, of({}, {9}), 1e-5);
  expect_used(with_mask, of({4}, {4, 5, 9}), 1e-5);
  expect_used(with_mask, of({4}, {5, 1}), 1e-5);
  expect_used(with_mask, of({2, 3}, {3, 1, 9}), 1e-5);
  expect_used(with_mask, of({2, 3}, {2, 3, 5, 9}), 1e-5);
  expect_used(with_mask, of({2, 3, 2}, {2, 1, 2, 5, 9}), 1e-5);
  expect_used(with_mask, of({2, 3, 2}, {2, 1, 1, 1, 9}), 1e-5);
}

// Axes in front, sharing, masks, and where the scale is put, at random.
TEST(Attention, FormsAtRandom) {
  std::mt19937 random(3);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int used = 0;
  constexpr int programs = 60;
  for (int p = 0; p < programs; ++p) {
    mx::Shape lead;
    for (int d = below(4); d > 0; --d)
      lead.push_back(1 + below(3));
    auto with = [](mx::Shape shape, int rows, int columns) {
      shape.push_back(rows);
      shape.push_back(columns);
      return shape;
    };
    auto some_of = [&](mx::Shape shape) {
      for (auto& n : shape)
        if (below(3) == 0) n = 1;
      shape.erase(shape.begin(), shape.begin() + below(static_cast<int>(shape.size()) + 1));
      return shape;
    };
    const int queries = 1 + below(6), keys = 1 + below(9), width = 1 + below(8);
    const auto k_lead = below(2) ? lead : some_of(lead), v_lead = below(2) ? k_lead : some_of(lead);
    const Arrays arguments{
        normal(with(lead, queries, width), mx::float32, 4 * p),
        normal(with(k_lead, keys, width), mx::float32, 4 * p + 1),
        normal(with(v_lead, keys, 1 + below(5)), mx::float32, 4 * p + 2),
        normal(with(some_of(lead), below(2) ? queries : 1, below(2) ? keys : 1), mx::float32, 4 * p + 3)};
    const int mask = below(4), place = below(3);
    auto fn = [=](const Arrays& a) {
      const auto factor = array(0.5f);
      auto q = place == 0 ? mx::multiply(a[0], factor) : a[0], k = mx::swapaxes(a[1], -1, -2);
      auto scores = mx::matmul(q, place == 1 ? mx::multiply(k, factor) : k);
      if (place == 2) scores = mx::multiply(scores, factor);
      if (mask == 1) scores = mx::add(scores, a[3]);
      if (mask == 2) scores = mx::where(mx::greater(a[3], array(-0.5f)), scores, array(-1e9f));
      if (mask == 3) scores = causal(scores, -1e9);
      return Arrays{mx::matmul(mx::softmax(scores, -1), a[2])};
    };
    auto program = built(fn, arguments);
    used += program->attentions().size() == 1 && program->attentions()[0].used;
    EXPECT_LE(largest_difference(program->call(arguments)[0], fn(arguments)[0]), 1e-5) << explain(*program);
  }
  EXPECT_GE(used, programs * 2 / 3);
}

TEST(Attention, SmallSizesStandForLargeOnes) {
  expect_used(
      [](const Arrays& a) {
        return Arrays{attend(a[0], a[1], a[2], 0.25, [](auto s) { return causal(s, lowest_of(s)); })};
      },
      {normal({3, 2, 150, 16}, mx::float32, 1),
       normal({3, 2, 333, 16}, mx::float32, 2),
       normal({3, 2, 333, 16}, mx::float32, 3)},
      1e-5);
}

// A block: what is around the two calls is fused, the heads are axes of one tensor, and one result is read
// twice.
TEST(Attention, SeveralInOneProgram) {
  auto heads = [](const array& x) { return mx::transpose(mx::reshape(x, {2, 9, 3, 16}), {0, 2, 1, 3}); };
  auto fn = [heads](const Arrays& a) {
    auto x = a[0];
    for (int layer = 0; layer < 2; ++layer) {
      auto normed = mx::multiply(x, mx::rsqrt(mx::add(mx::mean(mx::square(x), -1, true), array(1e-5f))));
      auto h = heads(normed);
      auto mixed = attend(
          h, heads(mx::multiply(normed, a[1])), h, 0.25, [](auto s) { return causal(s, lowest_of(s)); });
      x = mx::add(x, mx::tanh(mx::reshape(mx::transpose(mixed, {0, 2, 1, 3}), {2, 9, 48})));
    }
    return Arrays{x};
  };
  const Arrays arguments{normal({2, 9, 48}, mx::float32, 1), normal({48}, mx::float32, 2)};
  auto options = with_library();
  options.fuse.gate_by_cost = false;
  auto program = built(fn, arguments, options);
  ASSERT_EQ(program->attentions().size(), 2u) << explain(*program);
  for (const auto& outcome : program->attentions()) {
    EXPECT_TRUE(outcome.used) << explain(*program);
    for (const auto& region : program->plan().regions)
      for (NodeId id : region.nodes)
        EXPECT_FALSE(std::count(outcome.match.nodes.begin(), outcome.match.nodes.end(), id));
  }
  EXPECT_TRUE(verify(program->graph(), program->plan()).empty());
  const auto& stops = program->plan().stops;
  EXPECT_TRUE(std::any_of(stops.begin(), stops.end(), [](const Stop& stop) {
    return stop.reason == "runs as fast.scaled_dot_product_attention";
  }));
  EXPECT_GE(program->plan().regions.size(), 3u) << explain(*program);
  EXPECT_FALSE(program->plain());
  EXPECT_LE(largest_difference(program->call(arguments)[0], fn(arguments)[0]), 1e-5);
  EXPECT_NE(
      explain(*program).find("runs as fast.scaled_dot_product_attention: not timed"), std::string::npos);
}

// Its gradient reads the weights.
TEST(Attention, NothingOthersReadIsHidden) {
  auto loss = [](const Arrays& a) { return Arrays{mx::sum(attend(a[0], a[1], a[2], 0.25, unmasked))}; };
  auto fn = [loss](const Arrays& a) { return mx::vjp(loss, a, {array(1.0f)}).second; };
  const Arrays arguments{
      normal({2, 5, 16}, mx::float32, 1),
      normal({2, 9, 16}, mx::float32, 2),
      normal({2, 9, 8}, mx::float32, 3)};
  auto program = built(fn, arguments);
  for (const auto& outcome : program->attentions())
    EXPECT_FALSE(outcome.used) << explain(*program);
  EXPECT_LE(largest_difference(program->call(arguments)[0], fn(arguments)[0]), 1e-5);
}

TEST(Attention, OnlyWhereTheMachineHasAFasterOne) {
  auto fn = [](const Arrays& a) { return Arrays{attend(a[0], a[1], a[2], 0.25, unmasked)}; };
  const Arrays arguments{
      normal({2, 5, 16}, mx::float32, 1),
      normal({2, 9, 16}, mx::float32, 2),
      normal({2, 9, 8}, mx::float32, 3)};
  CompileOptions options;
  options.region_code = RegionCode::untimed;
  auto program = built(fn, arguments, options);
  ASSERT_EQ(program->attentions().size(), 1u);
  EXPECT_FALSE(program->attentions()[0].used);
  EXPECT_EQ(program->attentions()[0].reason, "MLX has no faster library call on this machine");
  auto dtypes_differ = [](const Arrays& a) {
    return Arrays{mx::astype(attend(a[0], a[1], a[2], 0.25, unmasked), mx::float16)};
  };
  expect_used(dtypes_differ, arguments, 4e-3);  // the cast is outside
}

}  // namespace
}  // namespace autoperfect
