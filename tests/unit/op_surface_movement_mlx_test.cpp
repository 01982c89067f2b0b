// Views, indexing and data movement over every dtype, shape and layout.
#include "op_surface.h"

namespace autoperfect {
namespace {

// Runs `fn` on numbers of every dtype, shape and layout.
template <class Fn>
void over_everything(Surface& surface, const char* name, Fn fn) {
  for (auto dtype : every_dtype()) {
    for (const auto& shape : every_shape) {
      for (auto layout : every_layout)
        surface.run(name, fn, {stored(numbers(shape, dtype), layout)});
    }
  }
}

mx::Shape same_everywhere(const array& a, int number) {
  return mx::Shape(a.ndim(), number);
}

TEST(OpSurface, Views) {
  Surface surface;
  over_everything(surface, "transpose", [](const Arrays& in) { return Arrays{mx::transpose(in[0])}; });
  over_everything(surface, "moveaxis", [](const Arrays& in) { return Arrays{mx::moveaxis(in[0], 0, -1)}; });
  over_everything(surface, "flatten", [](const Arrays& in) { return Arrays{mx::flatten(in[0])}; });
  over_everything(surface, "expand_dims", [](const Arrays& in) { return Arrays{mx::expand_dims(in[0], 0)}; });
  over_everything(surface, "squeeze", [](const Arrays& in) { return Arrays{mx::squeeze(in[0])}; });
  over_everything(surface, "unflatten", [](const Arrays& in) {
    return Arrays{mx::unflatten(in[0], -1, {1, in[0].shape(-1)})};
  });
  over_everything(surface, "reshape", [](const Arrays& in) {
    mx::Shape reversed(in[0].shape().rbegin(), in[0].shape().rend());
    return Arrays{mx::reshape(in[0], reversed)};
  });
  over_everything(surface, "broadcast_to", [](const Arrays& in) {
    auto shape = in[0].shape();
    shape.insert(shape.begin(), 2);
    return Arrays{mx::broadcast_to(in[0], shape)};
  });
  over_everything(surface, "every other", [](const Arrays& in) {
    return Arrays{mx::slice(in[0], same_everywhere(in[0], 0), in[0].shape(), same_everywhere(in[0], 2))};
  });
  over_everything(surface, "reversed", [](const Arrays& in) {
    const auto& x = in[0];
    return Arrays{mx::slice(x, same_everywhere(x, -1), same_everywhere(x, -99), same_everywhere(x, -1))};
  });
  over_everything(surface, "the last two, backwards by two", [](const Arrays& in) {
    const auto& x = in[0];
    return Arrays{mx::slice(x, same_everywhere(x, 99), same_everywhere(x, -3), same_everywhere(x, -2))};
  });
  surface.expect_all(OpClass::view, 100);
}

TEST(OpSurface, DataMovement) {
  Surface surface;
  over_everything(surface, "concatenate", [](const Arrays& in) {
    return Arrays{mx::concatenate({in[0], in[0]}, 0)};
  });
  over_everything(surface, "stack", [](const Arrays& in) { return Arrays{mx::stack({in[0], in[0]}, -1)}; });
  over_everything(surface, "pad", [](const Arrays& in) { return Arrays{mx::pad(in[0], {1, 2}, array(3))}; });
  over_everything(surface, "pad one axis", [](const Arrays& in) {
    return Arrays{mx::pad(in[0], std::vector<int>{-1}, mx::Shape{0}, mx::Shape{2})};
  });
  over_everything(
      surface, "edge", [](const Arrays& in) { return Arrays{mx::pad(in[0], 1, array(0), "edge")}; });
  over_everything(surface, "tile", [](const Arrays& in) { return Arrays{mx::tile(in[0], {2, 1})}; });
  over_everything(surface, "repeat", [](const Arrays& in) { return Arrays{mx::repeat(in[0], 2, 0)}; });
  over_everything(surface, "roll", [](const Arrays& in) { return Arrays{mx::roll(in[0], 1, 0)}; });
  over_everything(surface, "split", [](const Arrays& in) { return mx::split(in[0], mx::Shape{1, 2}, -1); });
  over_everything(surface, "split in three", [](const Arrays& in) { return mx::split(in[0], 3, 0); });
  over_everything(surface, "diagonal", [](const Arrays& in) { return Arrays{mx::diagonal(in[0])}; });
  over_everything(surface, "tril", [](const Arrays& in) { return Arrays{mx::tril(in[0])}; });
  over_everything(surface, "strided", [](const Arrays& in) {
    int rows = static_cast<int>(in[0].size()) - 2;
    return Arrays{mx::as_strided(in[0], {rows, 3}, {1, 1}, 0), mx::as_strided(in[0], {3, rows}, {-1, 1}, 2)};
  });
  for (auto to : every_dtype()) {
    auto view = [to](const Arrays& in) { return Arrays{mx::view(in[0], to)}; };
    over_everything(surface, "view", view);
    for (auto from : every_dtype())
      surface.run("view of 8", view, {numbers({2, 8}, from)});
  }
  for (Op op : {Op::concatenate, Op::pad, Op::split, Op::as_strided, Op::bitcast})
    EXPECT_GE(surface.count(op), 50) << name(op);
}

TEST(OpSurface, Gathers) {
  Surface surface;
  auto index_dtypes = integer_dtypes;
  for (auto dtype : every_dtype()) {
    for (const auto& shape : every_shape) {
      auto x = numbers(shape, dtype);
      if (x.size() == 0) {  // nothing may be taken of it but nothing
        auto nothing = [](const Arrays& in) { return Arrays{mx::take(in[0], in[1], 0)}; };
        surface.run("take nothing", nothing, {x, indices({0}, 1)});
        continue;
      }
      for (int axis = 0; axis < x.ndim(); ++axis) {
        int n = x.shape(axis);
        for (auto index_dtype : index_dtypes) {
          auto take = [=](const Arrays& in) { return Arrays{mx::take(in[0], in[1], axis)}; };
          surface.run("take", take, {x, indices({2, 3}, n, index_dtype)});
        }
        auto along = [=](const Arrays& in) { return Arrays{mx::take_along_axis(in[0], in[1], axis)}; };
        auto places = x.shape();
        places[axis] = 2;
        surface.run("take_along_axis", along, {x, indices(places, n)});
        surface.run("from the end", along, {stored(x, Layout::reversed), indices(places, n) - array(n)});
        auto one = [=](const Arrays& in) { return Arrays{mx::take(in[0], n - 1, axis)}; };
        surface.run("one", one, {stored(x, Layout::transposed)});
      }
      surface.run(
          "take of all",
          [](const Arrays& in) { return Arrays{mx::take(in[0], in[1])}; },
          {x, indices({4}, static_cast<int>(x.size()))});
    }
    auto two = [](const Arrays& in) {
      return Arrays{
          mx::gather(in[0], {in[1], in[2]}, {2, 0}, {1, 2, 1}),
          mx::gather(in[0], Arrays{}, std::vector<int>{}, {1, 2, 2})};
    };
    surface.run("gather", two, {numbers({2, 3, 4}, dtype), indices({2, 1}, 4), indices({3}, 2)});
  }
  EXPECT_GE(surface.count(Op::gather), 200);
  EXPECT_GE(surface.count(Op::gather_axis), 100);
}

void run_scatters(Surface& surface, mx::Dtype dtype) {
  auto x = numbers({3, 4}, dtype), rows = numbers({2, 1, 4}, dtype, 1), value = numbers({2, 1, 1}, dtype, 2);
  auto i = indices({2}, 3), j = indices({2}, 4, mx::int32, 3);
  auto each = [&](const char* name, auto op) {
    surface.run(
        name, [op](const Arrays& in) { return Arrays{op(in[0], {in[1]}, in[2], {0})}; }, {x, i, rows});
    surface.run(
        name,
        [op](const Arrays& in) {
          return Arrays{op(in[0], {in[1], in[2]}, in[3], {0, 1})};
        },
        {stored(x, Layout::transposed), i, j, value});
  };
  using Indices = std::vector<array>;
  using Axes = std::vector<int>;
  each("scatter", [](auto& a, Indices i, auto& u, Axes d) { return mx::scatter(a, i, u, d); });
  each("scatter_add", [](auto& a, Indices i, auto& u, Axes d) { return mx::scatter_add(a, i, u, d); });
  each("scatter_prod", [](auto& a, Indices i, auto& u, Axes d) { return mx::scatter_prod(a, i, u, d); });
  each("scatter_max", [](auto& a, Indices i, auto& u, Axes d) { return mx::scatter_max(a, i, u, d); });
  each("scatter_min", [](auto& a, Indices i, auto& u, Axes d) { return mx::scatter_min(a, i, u, d); });
  for (int axis : {0, 1}) {
    auto places = axis == 0 ? indices({2, 4}, 3) : indices({3, 2}, 4);
    auto values = numbers(places.shape(), dtype, 1);
    auto put = [=](const Arrays& in) { return Arrays{mx::put_along_axis(in[0], in[1], in[2], axis)}; };
    auto add = [=](const Arrays& in) { return Arrays{mx::scatter_add_axis(in[0], in[1], in[2], axis)}; };
    surface.run("put_along_axis", put, {x, places, values});
    surface.run("scatter_add_axis", add, {stored(x, Layout::reversed), places, values});
  }
  auto masked = [](const Arrays& in) { return Arrays{mx::masked_scatter(in[0], in[1], in[2])}; };
  surface.run("masked_scatter", masked, {x, numbers({3, 4}, mx::bool_), numbers({12}, dtype, 1)});
  surface.run("masked rows", masked, {x, array({true, false, true}), numbers({2, 4}, dtype, 1)});
  surface.run("masked by one", masked, {x, numbers({3, 4}, mx::bool_), numbers({}, dtype, 1)});
}

void run_updates(Surface& surface, mx::Dtype dtype) {
  using Update = array (*)(const array&, const array&, mx::Shape, mx::Shape, mx::Shape, mx::StreamOrDevice);
  const std::vector<Update> updates{
      mx::slice_update,
      mx::slice_update_add,
      mx::slice_update_prod,
      mx::slice_update_max,
      mx::slice_update_min};
  auto x = numbers({4, 6}, dtype), part = numbers({2, 3}, dtype, 1);
  for (auto update : updates) {
    auto forward = [=](const Arrays& in) { return Arrays{update(in[0], in[1], {1, 0}, {3, 6}, {1, 2}, {})}; };
    auto backward = [=](const Arrays& in) {
      return Arrays{update(in[0], in[1], {3, 5}, {-5, -7}, {-2, -2}, {})};
    };
    auto nothing = [=](const Arrays& in) { return Arrays{update(in[0], in[1], {1, 1}, {1, 4}, {1, 1}, {})}; };
    for (auto layout : every_layout) {
      surface.run("forward", forward, {stored(x, layout), part});
      surface.run("backward", backward, {x, stored(part, layout)});
    }
    surface.run("one number", forward, {x, numbers({}, dtype, 2)});
    surface.run("nothing", nothing, {x, numbers({0, 3}, dtype)});
  }
  auto slice = [](const Arrays& in) { return Arrays{mx::slice(in[0], in[1], {1, 0}, {2, 3})}; };
  auto one_axis = [](const Arrays& in) { return Arrays{mx::slice(in[0], in[1], {1}, {4, 2})}; };
  auto update = [](const Arrays& in) { return Arrays{mx::slice_update(in[0], in[2], in[1], {0, 1})}; };
  surface.run("dynamic slice", slice, {x, array({2, 1})});
  surface.run("along one axis", one_axis, {stored(x, Layout::transposed), array(3)});
  surface.run("dynamic update", update, {x, array({1, 2}), part});
}

TEST(OpSurface, Scatters) {
  Surface surface;
  for (auto dtype : every_dtype()) {
    run_scatters(surface, dtype);
    run_updates(surface, dtype);
    for (auto layout : every_layout) {
      for (const char* side : {"left", "right"}) {
        auto search = [side](const Arrays& in) { return Arrays{mx::searchsorted(in[0], in[1], side)}; };
        surface.run(
            "searchsorted",
            search,
            {mx::sort(numbers({9}, dtype)), stored(numbers({3, 4}, dtype, 1), layout)});
      }
    }
  }
  surface.run(
      "masked_scatter under vmap",
      [](const Arrays& in) {
        return Arrays{mx::vmap([](const array& a, const array& b) {
          return mx::masked_scatter(a, mx::greater(a, array(0.0f)), b);
        })(in[0], in[1])};
      },
      {numbers({3, 4}, mx::float32), numbers({3, 4}, mx::float32, 1)});
  for (Op op :
       {Op::scatter,
        Op::scatter_axis,
        Op::masked_scatter,
        Op::slice_update,
        Op::dynamic_slice,
        Op::dynamic_slice_update,
        Op::search_sorted})
    EXPECT_GE(surface.count(op), 10) << name(op);
}

}  // namespace
}  // namespace autoperfect
