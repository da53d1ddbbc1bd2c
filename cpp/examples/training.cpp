/* A training loop, with and without a barrier after every step: running ahead changes the time and no bit.
 *
 *     training [BATCHES [ROWS [INPUTS [UNITS [UNITS]]]]], by default 150 1024 512 2048 512
 */
#include <chrono>
#include <iostream>
#include <string>

#include "network.hpp"

namespace fr = forerun;

/* One epoch from the same start: the same seed, so the same weights and batches. Returns the weights. */
std::vector<std::vector<float>> train(const std::int64_t (&sizes)[5], bool barrier) {
  const auto [batches, rows, inputs, first, second] = sizes;
  fr::seed(1);
  const Dense one(inputs, first), two(first, second), three(second, 1);
  const std::vector<fr::Array> weights{one.w, one.b, two.w, two.b, three.w, three.b};
  fr::Optimiser sgd("sgd", weights, {{"learning_rate", 0.01}});
  fr::wait_all();

  const auto start = std::chrono::steady_clock::now();
  fr::Array first_loss, loss;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const auto x = fr::normal({rows, inputs});
    const auto y = fr::ones({rows, 1});
    loss = fr::record([&] { return fr::square(three(fr::relu(two(fr::relu(one(x))))) - y) / 2; });
    loss.backward();
    sgd.step(static_cast<std::size_t>(rows));
    if (batch == 0) first_loss = loss.mean();
    if (barrier) fr::wait_all();
  }
  const std::chrono::duration<double> submitted = std::chrono::steady_clock::now() - start;
  fr::wait_all();
  const std::chrono::duration<double> done = std::chrono::steady_clock::now() - start;
  std::cout << (barrier ? "barrier:    " : "no barrier: ") << "submitted " << submitted.count() << " s, done "
            << done.count() << " s, loss " << first_loss.item() << " -> " << loss.mean().item() << '\n';

  std::vector<std::vector<float>> elements;
  for (const auto &weight : weights) elements.push_back(weight.to_vector<float>());
  return elements;
}

int main(int count, char **words) {
  std::int64_t sizes[5] = {150, 1024, 512, 2048, 512};
  for (int k = 1; k < count && k <= 5; ++k) sizes[k - 1] = std::stoll(words[k]);
  const auto with = train(sizes, true), without = train(sizes, false);
  const bool same = with == without;
  std::cout << "the weights are " << (same ? "the same" : "not the same") << ", bit for bit\n";
  return same ? 0 : 1;
}
