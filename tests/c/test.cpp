/* The C++ header: what its classes do. */
#include <cmath>
#include <cstdio>
#include <cstring>
#include <forerun.hpp>
#include <iostream>
#include <sstream>
#include <thread>

namespace fr = forerun;

#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      std::cerr << __FILE__ << ':' << __LINE__ << ": failed: " << #condition << '\n';               \
      std::exit(1);                                                                                 \
    }                                                                                               \
  } while (0)

/* The error that a function throws. */
template <class Function>
fr::Error thrown(Function function) {
  try {
    function();
  } catch (const fr::Error &error) {
    return error;
  }
  std::cerr << "no error was thrown\n";
  std::exit(1);
}

using Floats = std::vector<float>;

static void operators() {
  const auto x = fr::ones({1, 2}), y = fr::ones({1, 2});
  const auto z = x * y + 2;
  std::ostringstream text;
  text << z;
  CHECK(text.str() == "[[3. 3.]]");
  const fr::Array a{1.0f, 2.0f, 4.0f};
  CHECK((a + a).to_vector<float>() == Floats({2, 4, 8}));
  CHECK((1 - a).to_vector<float>() == Floats({0, -1, -3}));
  CHECK((2 / a).to_vector<float>() == Floats({2, 1, 0.5f}));
  CHECK((-a * 3 % 5).to_vector<float>() == Floats({2, 4, 3}));
  CHECK((a > 1.5).to_vector<std::uint8_t>() == std::vector<std::uint8_t>({0, 1, 1}));
  CHECK((a == a).all().item<bool>() && !(a != a).any().item<bool>());
  CHECK(fr::maximum(a, 3).to_vector<float>() == Floats({3, 3, 4}));
  CHECK(fr::power(2, a).to_vector<float>() == Floats({2, 4, 16}));
  CHECK(fr::where(a < 3, a, 0).to_vector<float>() == Floats({1, 2, 0}));
  // A number takes the width of the array.
  const fr::Array whole{1, 2, 3};
  CHECK(whole.dtype() == FORERUN_INT32 && (whole + 1).dtype() == FORERUN_INT32);
  CHECK((whole + 0.5).dtype() == FORERUN_FLOAT32);
  CHECK(fr::dtype_of<double> == FORERUN_FLOAT64 && fr::full({2}, 2.5).to_vector<double>()[1] == 2.5);
  auto b = a.copy();
  b += 1;
  b *= a;
  CHECK(b.to_vector<float>() == Floats({2, 6, 20}) && a.to_vector<float>() == Floats({1, 2, 4}));
  const fr::Array complex{std::complex<float>(1, 2)};
  CHECK((complex * std::complex<float>(0, 1)).item<std::complex<float>>() == std::complex<float>(-2, 1));
}

static void shapes_and_views() {
  const auto x = fr::arange(12).astype(FORERUN_FLOAT32).reshape({3, 4});
  CHECK(x.shape() == fr::Shape({3, 4}) && x.rank() == 2 && x.size() == 12);
  CHECK(x[1].to_vector<float>() == Floats({4, 5, 6, 7}));
  CHECK(x.at({fr::slice(1, fr::_), -1}).to_vector<float>() == Floats({7, 11}));
  CHECK(x.at({fr::_, fr::slice(fr::_, fr::_, -2)}).shape() == fr::Shape({3, 2}));
  CHECK(x.at({fr::ellipsis, fr::new_axis, 0}).shape() == fr::Shape({3, 1}));
  auto row = x[0];
  row.assign(9);
  CHECK(x.at({0, 3}).item() == 9);
  CHECK(x.sum(0).shape() == fr::Shape({4}) && x.sum({0, 1}, true).shape() == fr::Shape({1, 1}));
  CHECK(x.sum(fr::Axes({})).shape() == x.shape());
  CHECK(x.transpose().shape() == fr::Shape({4, 3}) && x.transpose({1, 0}).shape() == fr::Shape({4, 3}));
  CHECK(x.expand_dims(0).squeeze().shape() == x.shape());
  CHECK(fr::concatenate({x, x}, 1).shape() == fr::Shape({3, 8}) && fr::stack({x, x}).shape() == fr::Shape({2, 3, 4}));
  CHECK(x.take(fr::Array{2, 0}).to_vector<float>()[0] == 8);
  CHECK(fr::matmul(fr::eye(3), x).argmax().item<std::int64_t>() == 11);

  // Copies of an array share its elements; moves leave nothing behind.
  fr::Array shared = x, empty;
  shared += 1;
  CHECK(x.at({0, 0}).item() == 10);
  empty = std::move(shared);
  CHECK(shared.handle() == nullptr && empty.size() == 12);
  CHECK(thrown([&] { shared.size(); }).status() == FORERUN_ERROR_HANDLE);

  // A view does not copy, and does not change.
  const auto view = x.transpose().view<float>();
  CHECK(view.shape() == fr::Shape({4, 3}) && view.strides() == fr::Shape({1, 4}) && view(3, 2) == 12);
  auto all = x;
  all.assign(0);
  all.wait();
  CHECK(view(3, 2) == 12 && x.at({2, 3}).item() == 0);
#if defined(__cpp_lib_mdspan)
  const auto span = view.mdspan<2>();
  CHECK((span[3, 2] == 12 && span.extent(0) == 4));
#endif
#if defined(FORERUN_HAS_EIGEN)
  CHECK(view.eigen()(3, 2) == 12 && view.eigen().rows() == 4);
#endif
  bool refused = false;
  try {
    x.view<double>();
  } catch (const std::invalid_argument &) {
    refused = true;
  }
  CHECK(refused);
  const fr::Array from_vector(std::vector<double>{1, 2, 3, 4}, {2, 2});
  CHECK(from_vector.dtype() == FORERUN_FLOAT64 && from_vector.to_vector<float>()[3] == 4);
}

/* Errors have both lines, whatever made the op: a function, an operator, an index, a number on the left. */
static void lines() {
  const auto x = fr::ones({2});
  const auto has_line = [](const fr::Error &error, unsigned line) {
    return error.submitted_line() == line && error.submitted_file() == __FILE__;
  };
  const fr::Array three = fr::ones({3});
  unsigned line = __LINE__ + 1;
  CHECK(has_line(thrown([&] { x + three; }), line));
  line = __LINE__ + 1;
  CHECK(has_line(thrown([&] { fr::maximum(x, three); }), line));
  line = __LINE__ + 1;
  CHECK(has_line(thrown([&] { x[7]; }), line));
  line = __LINE__ + 1;
  CHECK(has_line(thrown([&] { x.at({0, 0}); }), line));
  line = __LINE__ + 1;
  CHECK(has_line(thrown([&] { auto y = x; y += three; }), line));
  line = __LINE__ + 1;
  CHECK(has_line(thrown([&] { fr::call("softmax", {x}, {{"axis", 3}}); }), line));
  // A failure at run time: the line that submitted it, and the line that read it.
  const unsigned submitted = __LINE__ + 1;
  const auto taken = x.take(fr::Array{5}) + 1;
  const unsigned read = __LINE__ + 1;
  const auto error = thrown([&] { taken.wait(); });
  CHECK(has_line(error, submitted) && error.read_line() == read && error.read_file() == __FILE__);
  CHECK(error.status() == FORERUN_ERROR_INDEX && error.op() == "take");
  CHECK(error.message() == "index 5 is out of bounds for axis 0 with size 2");
  CHECK(std::strstr(error.what(), "submitted at") != nullptr && std::strstr(error.what(), "read at") != nullptr);
  try {
    fr::wait_all();
  } catch (const fr::Error &) {
    CHECK(false);
  }
}

static void ops_by_name() {
  const fr::Array x{3.0f, 1.0f, 2.0f};
  CHECK(fr::call("sort", {x}, {{"axis", 0}}).to_vector<float>() == Floats({1, 2, 3}));
  CHECK(fr::call("clip", {x, 1.5, 2.5}).to_vector<float>() == Floats({2.5f, 1.5f, 2}));
  CHECK(fr::call("cast", {x}, {{"dtype", "int64"}}).dtype() == FORERUN_INT64);
  const auto full = fr::call("full", {}, {{"shape", {2, 2}}, {"value", 7}, {"dtype", "int8"}});
  CHECK(full.to_vector<std::int8_t>() == std::vector<std::int8_t>({7, 7, 7, 7}));
  const auto quantile = fr::call("quantile", {x}, {{"places", {0, 2}}, {"shares", {0.0, 0.0}}});
  CHECK(quantile.size() == 2);
  const auto ones = fr::ones({2, 3}), zeros = fr::zeros({3});
  const auto normed = fr::call_all("batch_norm", {ones, fr::ones({3}), zeros, zeros.copy(), fr::ones({3})},
                                   {{"axis", 1}, {"eps", 1e-5}, {"momentum", 0.9}, {"training", true}});
  CHECK(normed.size() == 3 && normed[0].shape() == ones.shape());
  CHECK(std::abs(fr::softmax(x).sum().item() - 1) < 1e-6);
}

static void training() {
  fr::Array w{1.0f, 2.0f};
  w.attach_grad();
  const auto loss = fr::record([&] { return fr::square(w).sum(); });
  CHECK(fr::gradients({loss}, {w}, true).at(0).to_vector<float>() == Floats({2, 4}));
  loss.backward();
  CHECK(w.grad().to_vector<float>() == Floats({2, 4}));
  fr::Optimiser sgd("sgd", {w}, {{"learning_rate", 0.5}});
  sgd.step(1);
  CHECK(w.to_vector<float>() == Floats({0, 0}));
  // Recording ends with the scope, also after an exception.
  try {
    fr::Record scope;
    CHECK(forerun_is_recording() && forerun_is_training());
    throw 1;
  } catch (int) {
  }
  CHECK(!forerun_is_recording() && !forerun_is_training());
  CHECK(thrown([&] { loss.backward(); }).status() == FORERUN_ERROR_VALUE);
  CHECK(thrown([] { fr::ones({1}).grad(); }).op() == "grad");
  CHECK((w * 2).detach().size() == 2);
}

static void futures_and_threads() {
  const auto x = fr::normal({200, 200});
  auto product = fr::matmul(x, x).async<float>();
  auto converted = fr::arange(3).async<double>();
  CHECK(product.get().size() == 40000 && converted.get() == std::vector<double>({0, 1, 2}));
  auto failed = x.take(fr::Array{900}).async<float>();
  CHECK(thrown([&] { failed.get(); }).status() == FORERUN_ERROR_INDEX);

  std::vector<std::thread> others;
  std::vector<double> sums(4);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    others.emplace_back([own = x, k, &sums] { sums[k] = (own * static_cast<int>(k) + 1).mean().item(); });
  }
  for (auto &other : others) other.join();
  CHECK(sums[0] == 1);
  const auto before = fr::stats().records;
  fr::seed(3);
  const auto one = fr::uniform({8}).to_vector<float>();
  fr::seed(3);
  CHECK(fr::uniform({8}).to_vector<float>() == one && fr::stats().records > before);
}

static void files_and_devices() {
  const std::string path = "test-cpp.safetensors";
  fr::save(path, {{"x", fr::arange(4)}, {"y", fr::ones({2, 2})}});
  const auto loaded = fr::load(path);
  std::remove(path.c_str());
  CHECK(loaded.size() == 2 && loaded[0].first == "x" && loaded[1].second.shape() == fr::Shape({2, 2}));
  const auto missing = thrown([&] { fr::load(path); });
  CHECK(missing.message().find(path) != std::string::npos && missing.read_file() == __FILE__);
  CHECK(thrown([] { fr::Network("none.json", "none.params"); }).status() == FORERUN_ERROR_RUNTIME);
  const auto there = fr::ones({2}).to(fr::cpu(1));
  CHECK(there.device() == fr::cpu(1) && there.device() != fr::current_device());
  CHECK(fr::threads() >= 1);
}

int main() {
  operators();
  shapes_and_views();
  lines();
  ops_by_name();
  training();
  futures_and_threads();
  files_and_devices();
  std::cout << "ok\n";
}
