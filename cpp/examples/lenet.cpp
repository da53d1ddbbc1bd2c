/* LeNet on images of noise: how fast a step is, and that the loss falls.
 *
 *     lenet [STEPS [BATCH]], by default 20 256
 */
#include <chrono>
#include <iostream>
#include <string>

#include "network.hpp"

namespace fr = forerun;

int main(int count, char **words) {
  const int steps = count > 1 ? std::stoi(words[1]) : 20;
  const std::int64_t batch = count > 2 ? std::stoll(words[2]) : 256;

  fr::seed(1);
  const Conv c1(1, 6, 5, 2), c2(6, 16, 5, 0);
  const Dense d1(400, 120), d2(120, 84), d3(84, 10);
  const auto forward = [&](const fr::Array &x) {
    const auto features = average_pool(fr::sigmoid(c2(average_pool(fr::sigmoid(c1(x))))));
    return d3(fr::sigmoid(d2(fr::sigmoid(d1(features)))));
  };
  fr::Optimiser sgd("sgd", {c1.w, c1.b, c2.w, c2.b, d1.w, d1.b, d2.w, d2.b, d3.w, d3.b}, {{"learning_rate", 0.5}});

  const auto x = fr::normal({batch, 1, 28, 28});
  const auto labels = fr::uniform({batch}, 0, 10).astype(FORERUN_INT64);
  std::vector<fr::Array> losses;
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    const auto loss = fr::record([&] { return cross_entropy(forward(x), labels); });
    loss.backward();
    sgd.step(static_cast<std::size_t>(batch));
    losses.push_back(loss.mean());
  }
  const double first = losses.front().item(), last = losses.back().item();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::cout << took.count() / steps << " ms a step, loss " << first << " -> " << last << '\n';
  return last < first ? 0 : 1;
}
