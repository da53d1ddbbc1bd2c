/* The first lines: arithmetic that returns at once, ten products, barriers, increments. */
#include <chrono>
#include <forerun.hpp>
#include <iostream>
#include <string>

namespace fr = forerun;

/* Seconds that a function takes. */
template <class Function>
double seconds(Function function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int main(int count, char **words) {
  const std::int64_t size = count > 1 ? std::stoll(words[1]) : 1000;

  auto x = fr::ones({1, 2});
  auto y = fr::ones({1, 2});
  auto z = x * y + 2;
  std::cout << z << '\n';

  // Ten products are issued, then finished.
  fr::Array a, b;
  const double issued = seconds([&] {
    for (int k = 0; k < 10; ++k) {
      a = fr::normal({size, size});
      b = fr::dot(a, a);
    }
  });
  const double finished = seconds([] { fr::wait_all(); });
  std::cout << "ten products: issued in " << issued << " s, finished after another " << finished << " s\n";

  // Barriers: for everything, for one array, and by reading an element.
  std::cout << "wait_all: " << seconds([&] {
    b = fr::dot(a, a);
    fr::wait_all();
  }) << " s\n";
  std::cout << "wait:     " << seconds([&] {
    b = fr::dot(a, a);
    b.wait();
  }) << " s\n";
  std::cout << "item:     " << seconds([&] {
    b = fr::dot(a, a);
    b.sum().item();
  }) << " s\n";

  // A thousand increments, with a wait after each and with one at the end.
  std::cout << "increments, synchronous:  " << seconds([&] {
    for (int k = 0; k < 1000; ++k) {
      y = x + 1;
      y.wait();
    }
  }) << " s\n";
  std::cout << "increments, asynchronous: " << seconds([&] {
    for (int k = 0; k < 1000; ++k) y = x + 1;
    y.wait();
  }) << " s\n";
  std::cout << y << '\n';
}
