/* Layers for the examples: thin functions over the library's ops. */
#ifndef NETWORK_HPP
#define NETWORK_HPP

#include <cmath>
#include <forerun.hpp>
#include <utility>
#include <vector>

/* A variable of random numbers, scaled for this many inputs. */
inline forerun::Array weight(const forerun::Shape &shape, double inputs) {
  auto made = forerun::normal(shape, 0, std::sqrt(1 / inputs));
  made.attach_grad();
  return made;
}

inline forerun::Array bias(std::int64_t units) {
  auto made = forerun::zeros({units});
  made.attach_grad();
  return made;
}

/* A fully connected layer. */
struct Dense {
  forerun::Array w, b;

  Dense(std::int64_t inputs, std::int64_t units)
      : w(weight({units, inputs}, static_cast<double>(inputs))), b(bias(units)) {}
  forerun::Array operator()(const forerun::Array &x) const {
    return forerun::call("fully_connected", {x, w, b}, {{"flatten", true}});
  }
};

/* A convolution in two dimensions. */
struct Conv {
  forerun::Array w, b;
  std::int64_t padding;

  Conv(std::int64_t inputs, std::int64_t filters, std::int64_t extent, std::int64_t padding)
      : w(weight({filters, inputs, extent, extent}, static_cast<double>(inputs * extent * extent))),
        b(bias(filters)),
        padding(padding) {}
  forerun::Array operator()(const forerun::Array &x) const {
    const auto y = forerun::call("convolution", {x, w},
                                 {{"stride", {1, 1}},
                                  {"padding", {padding, padding}},
                                  {"dilation", {1, 1}},
                                  {"extents", std::vector<std::int64_t>{}},
                                  {"groups", 1}});
    return y + b.reshape({1, -1, 1, 1});
  }
};

/* The mean of windows of two by two. */
inline forerun::Array average_pool(const forerun::Array &x) {
  return forerun::call("average_pool", {x},
                       {{"kernel", {2, 2}},
                        {"stride", {2, 2}},
                        {"padding", {0, 0}},
                        {"extents", std::vector<std::int64_t>{}},
                        {"divisor", 2}});
}

/* The loss of a classifier: the mean over samples. */
inline forerun::Array cross_entropy(const forerun::Array &scores, const forerun::Array &labels) {
  const auto chosen =
      forerun::call("pick", {forerun::log_softmax(scores), labels}, {{"axis", -1}, {"mode", "clip"}});
  return -chosen;
}

#endif  // NETWORK_HPP
