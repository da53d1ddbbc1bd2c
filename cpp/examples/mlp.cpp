/* A multilayer perceptron that learns whether points lie inside a circle. The weights are saved and loaded. */
#include <cstdio>
#include <iostream>

#include "network.hpp"

namespace fr = forerun;

int main() {
  fr::seed(7);
  const auto points = fr::uniform({512, 2}, -1, 1);
  const auto labels = ((points * points).sum(1) < 0.5).astype(FORERUN_INT64);

  const Dense first(2, 32), second(32, 2);
  const auto scores = [&] { return second(fr::tanh(first(points))); };
  fr::Optimiser adam("adam", {first.w, first.b, second.w, second.b}, {{"learning_rate", 0.02}});
  for (int step = 0; step < 200; ++step) {
    const auto loss = fr::record([&] { return cross_entropy(scores(), labels); });
    loss.backward();
    adam.step(512);
  }
  const auto accuracy = (scores().argmax(1) == labels).astype(FORERUN_FLOAT32).mean();
  std::cout << "accuracy " << accuracy.item() << '\n';

  const std::string path = "mlp-example.safetensors";
  fr::save(path, {{"first.weight", first.w}, {"first.bias", first.b}});
  const auto loaded = fr::load(path);
  std::remove(path.c_str());
  const bool same = (loaded.at(0).second == first.w).all().item<bool>() && loaded.size() == 2;
  std::cout << "the loaded weights are " << (same ? "the same" : "different") << '\n';
  return accuracy.item() > 0.9 && same ? 0 : 1;
}
