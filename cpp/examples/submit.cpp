/* How long the calls of a C++ program take until they return: `y = x + 1` on an array of (1, 2), and ten products of
 * random matrices. Each figure is the best of several rounds; the results are waited for between the rounds.
 *
 *     submit [CALLS], by default 10000
 */
#include <algorithm>
#include <chrono>
#include <forerun.hpp>
#include <iostream>
#include <string>

namespace fr = forerun;

/* Nanoseconds of the fastest of several rounds. */
template <class Round>
double fastest(int rounds, Round round) {
  double best = 1e18;
  for (int k = 0; k < rounds; ++k) {
    const auto start = std::chrono::steady_clock::now();
    round();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
    fr::wait_all();
  }
  return best;
}

int main(int count, char **words) {
  const int calls = count > 1 ? std::stoi(words[1]) : 10000;
  const auto x = fr::ones({1, 2});
  fr::Array y;
  // The window of a thread holds more ops than this, so that no call waits for room.
  calls > 16000 ? throw std::invalid_argument("at most 16000 calls") : void();
  const double one = fastest(50, [&] {
    for (int k = 0; k < calls; ++k) y = x + 1;
  });
  std::cout << "y = x + 1 on (1, 2): " << one / calls << " ns\n";

  fr::Array a, b;
  const double ten = fastest(20, [&] {
    for (int k = 0; k < 10; ++k) {
      a = fr::normal({100, 100});
      b = fr::dot(a, a);
    }
  });
  std::cout << "ten draws and products issued: " << ten / 1000 << " us\n";
}
