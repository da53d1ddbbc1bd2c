/* forerun.hpp: asynchronous arrays with automatic differentiation, for C++17 and later. Header only, over forerun.h.
 *
 *     #include <forerun.hpp>
 *     auto x = forerun::ones({1, 2});
 *     auto y = forerun::ones({1, 2});
 *     auto z = x * y + 2;      // returns at once
 *     std::cout << z << '\n';  // needs the value, so it waits for z
 *
 * An Array is a handle: copying it shares the elements, Array::copy() copies them. Only one thread at a time may use an
 * Array, also through const functions; give each thread a copy of its own. Errors are exceptions of type
 * forerun::Error, with the line that submitted the op and the line that read its result.
 */
#ifndef FORERUN_HPP
#define FORERUN_HPP

#include <complex>
#include <cstdint>
#include <exception>
#include <future>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "forerun.h"

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_source_location)
#include <source_location>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif
#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#define FORERUN_HAS_EIGEN 1
#endif

namespace forerun {

/* The line of a call, as the default of a last parameter. */
struct Here {
  const char *file;
  unsigned line;

#if defined(__cpp_lib_source_location)
  static constexpr Here now(std::source_location at = std::source_location::current()) {
    return Here{at.file_name(), static_cast<unsigned>(at.line())};
  }
#else
  static constexpr Here now(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return Here{file, line};
  }
#endif
};

/* An error: its kind, the op, and both lines. what() has all of it. */
class Error : public std::runtime_error {
 public:
  explicit Error(forerun_status status)
      : std::runtime_error(forerun_error_text()),
        status_(status),
        op_(forerun_error_op()),
        message_(forerun_error_message()),
        submitted_file_(forerun_error_submitted_file()),
        read_file_(forerun_error_read_file()),
        submitted_line_(forerun_error_submitted_line()),
        read_line_(forerun_error_read_line()) {}

  /* One of FORERUN_ERROR_... */
  forerun_status status() const noexcept { return status_; }
  const std::string &op() const noexcept { return op_; }
  const std::string &message() const noexcept { return message_; }
  /* The line that submitted the op; an empty file if unknown. */
  const std::string &submitted_file() const noexcept { return submitted_file_; }
  unsigned submitted_line() const noexcept { return submitted_line_; }
  /* The line that read its result; an empty file if there was none. */
  const std::string &read_file() const noexcept { return read_file_; }
  unsigned read_line() const noexcept { return read_line_; }

 private:
  forerun_status status_;
  std::string op_, message_, submitted_file_, read_file_;
  unsigned submitted_line_, read_line_;
};

namespace detail {

[[noreturn]] inline void fail(forerun_status status) { throw Error(status); }

/* Throws the thread's error unless the call succeeded. */
inline void check(forerun_status status) {
  if (status != FORERUN_OK) fail(status);
}

inline void at(Here here) { forerun_set_line(here.file, here.line); }

template <class T>
struct dtype_of;
template <class T, forerun_dtype Number>
struct is_dtype {
  static constexpr forerun_dtype value = Number;
};
template <> struct dtype_of<bool> : is_dtype<bool, FORERUN_BOOL> {};
template <> struct dtype_of<std::int8_t> : is_dtype<std::int8_t, FORERUN_INT8> {};
template <> struct dtype_of<std::int16_t> : is_dtype<std::int16_t, FORERUN_INT16> {};
template <> struct dtype_of<std::int32_t> : is_dtype<std::int32_t, FORERUN_INT32> {};
template <> struct dtype_of<std::int64_t> : is_dtype<std::int64_t, FORERUN_INT64> {};
template <> struct dtype_of<std::uint8_t> : is_dtype<std::uint8_t, FORERUN_UINT8> {};
template <> struct dtype_of<std::uint16_t> : is_dtype<std::uint16_t, FORERUN_UINT16> {};
template <> struct dtype_of<std::uint32_t> : is_dtype<std::uint32_t, FORERUN_UINT32> {};
template <> struct dtype_of<std::uint64_t> : is_dtype<std::uint64_t, FORERUN_UINT64> {};
template <> struct dtype_of<float> : is_dtype<float, FORERUN_FLOAT32> {};
template <> struct dtype_of<double> : is_dtype<double, FORERUN_FLOAT64> {};
template <> struct dtype_of<std::complex<float>> : is_dtype<std::complex<float>, FORERUN_COMPLEX64> {};
template <> struct dtype_of<std::complex<double>> : is_dtype<std::complex<double>, FORERUN_COMPLEX128> {};

/* A C++ number as an argument of an op. */
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
forerun_argument number(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return forerun_bool(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return forerun_float(static_cast<double>(value));
  } else if constexpr (std::is_unsigned_v<T>) {
    return forerun_uint(value);
  } else {
    return forerun_int(value);
  }
}
template <class T>
forerun_argument number(std::complex<T> value) {
  return forerun_complex(static_cast<double>(value.real()), static_cast<double>(value.imag()));
}

template <class T>
struct is_number : std::is_arithmetic<T> {};
template <class T>
struct is_number<std::complex<T>> : std::is_floating_point<T> {};

/* An owner of a C object. */
template <class T, forerun_status (*Free)(T *)>
class Owner {
 public:
  Owner() noexcept = default;
  explicit Owner(T *handle) noexcept : handle_(handle) {}
  Owner(Owner &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner &operator=(Owner &&other) noexcept {
    if (this != &other) {
      if (handle_) Free(handle_);
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Owner(const Owner &) = delete;
  Owner &operator=(const Owner &) = delete;
  ~Owner() {
    if (handle_) Free(handle_);
  }
  T *get() const noexcept { return handle_; }

 private:
  T *handle_ = nullptr;
};

}  // namespace detail

using DType = forerun_dtype;
using Shape = std::vector<std::int64_t>;

/* The dtype of a C++ type. */
template <class T>
inline constexpr DType dtype_of = detail::dtype_of<std::remove_cv_t<T>>::value;

/* A device: cpu(0), gpu(1). */
struct Device : forerun_device {};
inline Device cpu(int number = 0) { return Device{{FORERUN_CPU, number}}; }
inline Device gpu(int number = 0) { return Device{{FORERUN_GPU, number}}; }
inline bool operator==(const Device &a, const Device &b) { return a.kind == b.kind && a.number == b.number; }
inline bool operator!=(const Device &a, const Device &b) { return !(a == b); }

/* From the first element, or up to the last: the end of a slice. */
struct End {};
inline constexpr End _{};

/* A slice start:stop:step, with Python's meaning. */
struct Slice {
  std::int64_t start = FORERUN_END, stop = FORERUN_END, step = 1;
};
inline Slice slice(std::int64_t start, std::int64_t stop, std::int64_t step = 1) { return Slice{start, stop, step}; }
inline Slice slice(std::int64_t start, End, std::int64_t step = 1) { return Slice{start, FORERUN_END, step}; }
inline Slice slice(End, std::int64_t stop, std::int64_t step = 1) { return Slice{FORERUN_END, stop, step}; }
inline Slice slice(End = {}, End = {}, std::int64_t step = 1) { return Slice{FORERUN_END, FORERUN_END, step}; }

/* One item of an index: a position, a slice, _ for a whole dimension, ellipsis or new_axis. */
class Index {
 public:
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Index(T position, Here here = Here::now())
      : item_{FORERUN_INDEX_AT, static_cast<std::int64_t>(position), 0, 1}, here_(here) {}
  Index(Slice slice, Here here = Here::now())
      : item_{FORERUN_INDEX_SLICE, slice.start, slice.stop, slice.step}, here_(here) {}
  Index(End, Here here = Here::now()) : Index(Slice{}, here) {}
  static Index of_kind(std::uint32_t kind) {
    Index made{Slice{}};
    made.item_.kind = kind;
    return made;
  }
  const forerun_index &item() const { return item_; }
  Here here() const { return here_; }

 private:
  forerun_index item_;
  Here here_;
};
inline const Index ellipsis = Index::of_kind(FORERUN_INDEX_ELLIPSIS);
inline const Index new_axis = Index::of_kind(FORERUN_INDEX_NEW_AXIS);

/* Axes of a reduction: all of them, one or several. */
class Axes {
 public:
  Axes() = default;
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Axes(T axis) : axes_{static_cast<std::int64_t>(axis)}, all_(false) {}
  Axes(std::initializer_list<std::int64_t> axes) : axes_(axes), all_(false) {}
  /* Null for all axes. A list without axes is not null. */
  const std::int64_t *data() const {
    static const std::int64_t none = 0;
    return all_ ? nullptr : axes_.empty() ? &none : axes_.data();
  }
  std::size_t size() const { return axes_.size(); }

 private:
  std::vector<std::int64_t> axes_;
  bool all_ = true;
};

class Array;

/* The right operand of an operator: an array or a number, with the line of the expression. */
class Operand {
 public:
  Operand(const Array &array, Here here = Here::now());
  template <class T, std::enable_if_t<detail::is_number<T>::value, int> = 0>
  Operand(T value, Here here = Here::now()) : argument_(detail::number(value)), here_(here) {}
  const forerun_argument &argument() const { return argument_; }
  Here here() const { return here_; }

 private:
  forerun_argument argument_;
  Here here_;
};

/* The left operand of an operator if it is a number. */
class Number {
 public:
  template <class T, std::enable_if_t<detail::is_number<T>::value, int> = 0>
  Number(T value, Here here = Here::now()) : argument_(detail::number(value)), here_(here) {}
  const forerun_argument &argument() const { return argument_; }
  Here here() const { return here_; }

 private:
  forerun_argument argument_;
  Here here_;
};

template <class T>
class View;

/* An array whose elements may not be computed yet. */
class Array {
 public:
  /* No array; using it is an error. */
  Array() noexcept = default;
  /* Takes ownership of a handle. */
  explicit Array(forerun_array *handle) noexcept : own_(handle) {}

  /* Shares the elements: a write through one is visible through the other. */
  Array(const Array &other) : own_(other.shared()) {}
  Array &operator=(const Array &other) {
    if (this != &other) own_ = decltype(own_)(other.shared());
    return *this;
  }
  Array(Array &&) noexcept = default;
  Array &operator=(Array &&) noexcept = default;

  /* A one-dimensional array of these numbers. */
  template <class T, std::enable_if_t<detail::is_number<T>::value, int> = 0>
  Array(std::initializer_list<T> numbers, Here here = Here::now())
      : Array(numbers.begin(), {static_cast<std::int64_t>(numbers.size())}, here) {}
  /* The same of a vector, or in another shape. */
  template <class T, std::enable_if_t<!std::is_same_v<T, bool>, int> = 0>
  explicit Array(const std::vector<T> &numbers, Here here = Here::now())
      : Array(numbers.data(), {static_cast<std::int64_t>(numbers.size())}, here) {}
  template <class T, std::enable_if_t<!std::is_same_v<T, bool>, int> = 0>
  Array(const std::vector<T> &numbers, const Shape &shape, Here here = Here::now()) {
    std::int64_t size = 1;
    for (std::int64_t extent : shape) size *= extent;
    if (size != static_cast<std::int64_t>(numbers.size())) {
      throw std::invalid_argument(std::to_string(numbers.size()) + " numbers do not fill an array of " +
                                  std::to_string(size) + " elements");
    }
    *this = Array(numbers.data(), shape, here);
  }
  /* Copies elements in row-major order. */
  template <class T>
  Array(const T *elements, const Shape &shape, Here here = Here::now()) {
    detail::at(here);
    forerun_array *made = nullptr;
    detail::check(forerun_from_data(elements, dtype_of<T>, shape.data(), shape.size(), &made));
    own_ = decltype(own_)(made);
  }

  forerun_array *handle() const noexcept { return own_.get(); }
  explicit operator bool() const = delete;

  DType dtype() const {
    DType found = FORERUN_DEFAULT;
    detail::check(forerun_dtype_of(handle(), &found));
    return found;
  }
  std::size_t rank() const {
    std::size_t found = 0;
    detail::check(forerun_rank(handle(), &found));
    return found;
  }
  std::size_t size() const {
    std::size_t found = 0;
    detail::check(forerun_size(handle(), &found));
    return found;
  }
  Shape shape() const {
    Shape found(rank());
    detail::check(forerun_shape(handle(), found.data(), found.size()));
    return found;
  }
  Device device() const {
    Device found{};
    detail::check(forerun_device_of(handle(), &found));
    return found;
  }

  /* Waits until the array is computed. */
  void wait(Here here = Here::now()) const {
    detail::at(here);
    detail::check(forerun_wait(handle()));
  }
  bool is_ready() const {
    bool ready = false;
    detail::check(forerun_is_ready(handle(), &ready));
    return ready;
  }
  /* Waits; the only element. */
  template <class T = double>
  T item(Here here = Here::now()) const {
    detail::at(here);
    forerun_argument found;
    detail::check(forerun_item(handle(), &found));
    switch (found.kind) {
      case FORERUN_ARGUMENT_FLOAT:
        return static_cast<T>(found.content.real[0]);
      case FORERUN_ARGUMENT_UINT:
        return static_cast<T>(found.content.natural);
      case FORERUN_ARGUMENT_COMPLEX:
        if constexpr (std::is_arithmetic_v<T>) {
          throw std::invalid_argument("a complex number is not a real one: use item<std::complex<double>>()");
        } else {
          using Part = typename T::value_type;
          return T(static_cast<Part>(found.content.real[0]), static_cast<Part>(found.content.real[1]));
        }
      default:
        return static_cast<T>(found.content.integer);
    }
  }
  /* Waits; the elements in row-major order. T is the dtype's type, or the elements are converted to it first. */
  template <class T>
  std::vector<T> to_vector(Here here = Here::now()) const {
    static_assert(!std::is_same_v<T, bool>, "use std::uint8_t");
    const bool same = dtype() == dtype_of<T>;
    const Array converted = same ? *this : astype(dtype_of<T>, here);
    std::vector<T> elements(size());
    detail::at(here);
    detail::check(forerun_read(converted.handle(), elements.data(), elements.size() * sizeof(T)));
    return elements;
  }
  /* Waits; the elements as text. */
  std::string to_string(Here here = Here::now()) const {
    detail::at(here);
    std::size_t length = 0;
    detail::check(forerun_format(handle(), nullptr, 0, &length));
    std::string text(length + 1, '\0');
    detail::check(forerun_format(handle(), text.data(), text.size(), nullptr));
    text.resize(length);
    return text;
  }
  /* Waits; a view of the elements, which are not copied and never change. */
  template <class T>
  View<T> view(Here here = Here::now()) const;
  /* The elements, once they are computed; nothing waits meanwhile. */
  template <class T>
  std::future<std::vector<T>> async(Here here = Here::now()) const;

  Array copy(Here here = Here::now()) const { return one(forerun_copy, here); }
  Array detach(Here here = Here::now()) const { return one(forerun_detach, here); }
  Array astype(DType dtype, Here here = Here::now()) const {
    return made(here, [&](forerun_array **out) { return forerun_astype(handle(), dtype, out); });
  }
  Array to(Device device, Here here = Here::now()) const {
    return made(here, [&](forerun_array **out) { return forerun_to_device(handle(), device, out); });
  }

  /* A view of the elements that an index selects: x.at({0, slice(1, 3), _}). */
  Array at(std::initializer_list<Index> items, Here here = Here::now()) const {
    std::vector<forerun_index> found;
    for (const Index &item : items) found.push_back(item.item());
    return made(here,
                [&](forerun_array **out) { return forerun_slice(handle(), found.data(), found.size(), out); });
  }
  /* x[2], x[slice(1, 3)]: along the first dimension. */
  Array operator[](Index item) const { return at({item}, item.here()); }
  Array reshape(const Shape &shape, Here here = Here::now()) const {
    return made(here,
                [&](forerun_array **out) { return forerun_reshape(handle(), shape.data(), shape.size(), out); });
  }
  Array transpose(Here here = Here::now()) const {
    return made(here, [&](forerun_array **out) { return forerun_transpose(handle(), nullptr, 0, out); });
  }
  Array transpose(const Shape &axes, Here here = Here::now()) const {
    return made(here,
                [&](forerun_array **out) { return forerun_transpose(handle(), axes.data(), axes.size(), out); });
  }
  Array broadcast_to(const Shape &shape, Here here = Here::now()) const {
    return made(here,
                [&](forerun_array **out) { return forerun_broadcast_to(handle(), shape.data(), shape.size(), out); });
  }
  Array expand_dims(std::int64_t axis, Here here = Here::now()) const {
    return made(here, [&](forerun_array **out) { return forerun_expand_dims(handle(), axis, out); });
  }
  Array squeeze(const Axes &axes = {}, Here here = Here::now()) const {
    return made(here, [&](forerun_array **out) { return forerun_squeeze(handle(), axes.data(), axes.size(), out); });
  }
  Array take(const Array &indices, std::int64_t axis = 0, const char *mode = "raise", Here here = Here::now()) const {
    return made(here, [&](forerun_array **out) { return forerun_take(handle(), indices.handle(), axis, mode, out); });
  }

  Array sum(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_sum, axes, keepdims, here);
  }
  Array prod(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_prod, axes, keepdims, here);
  }
  Array mean(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_mean, axes, keepdims, here);
  }
  Array max(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_max, axes, keepdims, here);
  }
  Array min(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_min, axes, keepdims, here);
  }
  Array argmax(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_argmax, axes, keepdims, here);
  }
  Array argmin(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_argmin, axes, keepdims, here);
  }
  Array any(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_any, axes, keepdims, here);
  }
  Array all(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_all, axes, keepdims, here);
  }
  Array norm(const Axes &axes = {}, bool keepdims = false, Here here = Here::now()) const {
    return over(forerun_norm, axes, keepdims, here);
  }

  /* Writes a value to every element of the array or view. */
  void assign(Operand value) {
    detail::at(value.here());
    detail::check(forerun_assign(handle(), value.argument()));
  }
  Array &operator+=(Operand value) { return onto(forerun_add_in_place, value); }
  Array &operator-=(Operand value) { return onto(forerun_subtract_in_place, value); }
  Array &operator*=(Operand value) { return onto(forerun_multiply_in_place, value); }
  Array &operator/=(Operand value) { return onto(forerun_divide_in_place, value); }

  /* Makes the array a variable. */
  void attach_grad(bool add = false, Here here = Here::now()) {
    detail::at(here);
    detail::check(forerun_attach_grad(handle(), add ? FORERUN_GRAD_ADD : FORERUN_GRAD_WRITE));
  }
  /* The gradient of a variable. */
  Array grad(Here here = Here::now()) const { return one(forerun_grad, here); }
  /* Computes the gradients of all variables that this array was computed from while recording. */
  void backward(bool retain = false, Here here = Here::now()) const {
    detail::at(here);
    const forerun_array *head = handle();
    detail::check(forerun_backward(&head, 1, nullptr, retain));
  }

  /* The result of a call that makes one array. */
  template <class Call>
  static Array made(Here here, Call call) {
    detail::at(here);
    forerun_array *out = nullptr;
    detail::check(call(&out));
    return Array(out);
  }

 private:
  using Reduction = forerun_status (*)(const forerun_array *, const std::int64_t *, std::size_t, bool, forerun_array **);

  forerun_array *shared() const {
    if (!handle()) return nullptr;
    forerun_array *other = nullptr;
    detail::check(forerun_share(handle(), &other));
    return other;
  }
  Array one(forerun_status (*call)(const forerun_array *, forerun_array **), Here here) const {
    return made(here, [&](forerun_array **out) { return call(handle(), out); });
  }
  Array over(Reduction reduction, const Axes &axes, bool keepdims, Here here) const {
    return made(here, [&](forerun_array **out) { return reduction(handle(), axes.data(), axes.size(), keepdims, out); });
  }
  Array &onto(forerun_status (*call)(forerun_array *, forerun_argument), const Operand &value) {
    detail::at(value.here());
    detail::check(call(handle(), value.argument()));
    return *this;
  }

  detail::Owner<forerun_array, forerun_free> own_;
};

inline Operand::Operand(const Array &array, Here here) : argument_(forerun_of(array.handle())), here_(here) {}

namespace detail {
using Binary = forerun_status (*)(forerun_argument, forerun_argument, forerun_array **);

inline Array two(Binary call, const forerun_argument &a, const forerun_argument &b, Here here) {
  at(here);
  forerun_array *out = nullptr;
  check(call(a, b, &out));
  return Array(out);
}
}  // namespace detail

#define FORERUN_OPERATOR(symbol, name)                                               \
  inline Array operator symbol(const Array &a, Operand b) {                          \
    return detail::two(name, forerun_of(a.handle()), b.argument(), b.here());        \
  }                                                                                  \
  inline Array operator symbol(Number a, const Array &b) {                           \
    return detail::two(name, a.argument(), forerun_of(b.handle()), a.here());        \
  }
FORERUN_OPERATOR(+, forerun_add)
FORERUN_OPERATOR(-, forerun_subtract)
FORERUN_OPERATOR(*, forerun_multiply)
FORERUN_OPERATOR(/, forerun_divide)
FORERUN_OPERATOR(%, forerun_remainder)
FORERUN_OPERATOR(==, forerun_equal)
FORERUN_OPERATOR(!=, forerun_not_equal)
FORERUN_OPERATOR(<, forerun_less)
FORERUN_OPERATOR(<=, forerun_less_equal)
FORERUN_OPERATOR(>, forerun_greater)
FORERUN_OPERATOR(>=, forerun_greater_equal)
#undef FORERUN_OPERATOR

#define FORERUN_FUNCTION(name)                                                                \
  inline Array name(const Array &a, const Array &b, Here here = Here::now()) {                \
    return detail::two(forerun_##name, forerun_of(a.handle()), forerun_of(b.handle()), here); \
  }                                                                                           \
  inline Array name(const Array &a, Number b) {                                               \
    return detail::two(forerun_##name, forerun_of(a.handle()), b.argument(), b.here());       \
  }                                                                                           \
  inline Array name(Number a, const Array &b) {                                               \
    return detail::two(forerun_##name, a.argument(), forerun_of(b.handle()), a.here());       \
  }
FORERUN_FUNCTION(power)
FORERUN_FUNCTION(floor_divide)
FORERUN_FUNCTION(maximum)
FORERUN_FUNCTION(minimum)
FORERUN_FUNCTION(logical_and)
FORERUN_FUNCTION(logical_or)
#undef FORERUN_FUNCTION

#define FORERUN_FUNCTION(name)                                                                            \
  inline Array name(const Array &x, Here here = Here::now()) {                                            \
    return Array::made(here, [&](forerun_array **out) { return forerun_##name(x.handle(), out); });       \
  }
FORERUN_FUNCTION(negative)
FORERUN_FUNCTION(abs)
FORERUN_FUNCTION(exp)
FORERUN_FUNCTION(log)
FORERUN_FUNCTION(sqrt)
FORERUN_FUNCTION(square)
FORERUN_FUNCTION(sin)
FORERUN_FUNCTION(cos)
FORERUN_FUNCTION(tanh)
FORERUN_FUNCTION(sigmoid)
FORERUN_FUNCTION(relu)
FORERUN_FUNCTION(logical_not)
#undef FORERUN_FUNCTION

inline Array operator-(Operand x) {
  return Array::made(x.here(), [&](forerun_array **out) { return forerun_negative(x.argument().content.array, out); });
}

inline std::ostream &operator<<(std::ostream &out, const Array &x) { return out << x.to_string(); }

inline Array matmul(const Array &a, const Array &b, Here here = Here::now()) {
  return Array::made(here, [&](forerun_array **out) { return forerun_matmul(a.handle(), b.handle(), out); });
}
inline Array dot(const Array &a, const Array &b, Here here = Here::now()) {
  return Array::made(here, [&](forerun_array **out) { return forerun_dot(a.handle(), b.handle(), out); });
}
inline Array where(const Array &condition, Operand a, Operand b) {
  return Array::made(a.here(), [&](forerun_array **out) {
    return forerun_where(condition.handle(), a.argument(), b.argument(), out);
  });
}

inline Array zeros(const Shape &shape, DType dtype = FORERUN_DEFAULT, Here here = Here::now()) {
  return Array::made(here,
                     [&](forerun_array **out) { return forerun_zeros(shape.data(), shape.size(), dtype, out); });
}
inline Array ones(const Shape &shape, DType dtype = FORERUN_DEFAULT, Here here = Here::now()) {
  return Array::made(here, [&](forerun_array **out) { return forerun_ones(shape.data(), shape.size(), dtype, out); });
}
inline Array full(const Shape &shape, Number value, DType dtype = FORERUN_DEFAULT) {
  return Array::made(value.here(), [&](forerun_array **out) {
    return forerun_full(shape.data(), shape.size(), value.argument(), dtype, out);
  });
}
inline Array arange(Number start, Number stop, Number step = 1, DType dtype = FORERUN_DEFAULT) {
  return Array::made(start.here(), [&](forerun_array **out) {
    return forerun_arange(start.argument(), stop.argument(), step.argument(), dtype, out);
  });
}
inline Array arange(Number stop) { return arange(Number(0, stop.here()), stop); }
inline Array eye(std::size_t rows, DType dtype = FORERUN_DEFAULT, Here here = Here::now()) {
  return Array::made(here, [&](forerun_array **out) { return forerun_eye(rows, rows, 0, dtype, out); });
}
inline Array normal(const Shape &shape, double mean = 0, double scale = 1, DType dtype = FORERUN_DEFAULT,
                    Here here = Here::now()) {
  return Array::made(here, [&](forerun_array **out) {
    return forerun_normal(shape.data(), shape.size(), mean, scale, dtype, out);
  });
}
inline Array uniform(const Shape &shape, double low = 0, double high = 1, DType dtype = FORERUN_DEFAULT,
                     Here here = Here::now()) {
  return Array::made(here, [&](forerun_array **out) {
    return forerun_uniform(shape.data(), shape.size(), low, high, dtype, out);
  });
}

namespace detail {
/* The handles of arrays, as C takes them. */
template <class Arrays>
std::vector<const forerun_array *> handles(const Arrays &arrays) {
  std::vector<const forerun_array *> found;
  for (const Array &array : arrays) found.push_back(array.handle());
  return found;
}
}  // namespace detail

inline Array concatenate(const std::vector<Array> &arrays, std::int64_t axis = 0, Here here = Here::now()) {
  const auto handles = detail::handles(arrays);
  return Array::made(here, [&](forerun_array **out) {
    return forerun_concatenate(handles.data(), handles.size(), axis, out);
  });
}
inline Array stack(const std::vector<Array> &arrays, std::int64_t axis = 0, Here here = Here::now()) {
  const auto handles = detail::handles(arrays);
  return Array::made(here,
                     [&](forerun_array **out) { return forerun_stack(handles.data(), handles.size(), axis, out); });
}

/* Waits for everything submitted so far, by every thread. */
inline void wait_all(Here here = Here::now()) {
  detail::at(here);
  detail::check(forerun_wait_all());
}
inline void seed(std::uint64_t seed) { forerun_seed(seed); }
inline std::size_t threads() { return forerun_threads(); }
inline void set_threads(std::size_t threads) { detail::check(forerun_set_threads(threads)); }
inline std::size_t gpu_count() { return forerun_gpu_count(); }
inline Device current_device() { return Device{forerun_current_device()}; }
inline void set_current_device(Device device) { detail::check(forerun_set_current_device(device)); }
inline forerun_counters stats() {
  forerun_counters found{};
  detail::check(forerun_stats(&found));
  return found;
}

/* A named attribute of an op: {"stride", {2, 2}}, {"axis", -1}, {"dtype", "float32"}. */
class Attribute {
 public:
  template <class T, std::enable_if_t<detail::is_number<T>::value, int> = 0>
  Attribute(const char *name, T value) : name_(name) {
    const forerun_argument number = detail::number(value);
    kind_ = number.kind;
    switch (number.kind) {
      case FORERUN_ARGUMENT_FLOAT:
        real_ = number.content.real[0];
        break;
      case FORERUN_ARGUMENT_COMPLEX:
        reals_.assign({number.content.real[0], number.content.real[1]});
        break;
      case FORERUN_ARGUMENT_UINT:
        integer_ = static_cast<std::int64_t>(number.content.natural);
        break;
      default:
        integer_ = number.content.integer;
    }
  }
  Attribute(const char *name, const char *text) : name_(name), kind_(FORERUN_ATTRIBUTE_TEXT), text_(text) {}
  Attribute(const char *name, std::vector<std::int64_t> integers)
      : name_(name), kind_(FORERUN_ATTRIBUTE_INTS), integers_(std::move(integers)) {}
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Attribute(const char *name, std::initializer_list<T> integers)
      : name_(name), kind_(FORERUN_ATTRIBUTE_INTS), integers_(integers.begin(), integers.end()) {}
  Attribute(const char *name, std::initializer_list<double> reals)
      : name_(name), kind_(FORERUN_ATTRIBUTE_FLOATS), reals_(reals) {}

  forerun_attribute get() const {
    forerun_attribute made{};
    made.name = name_;
    made.kind = kind_;
    made.integer = integer_;
    made.real = real_;
    switch (kind_) {
      case FORERUN_ATTRIBUTE_INTS:
        made.data = integers_.data();
        made.count = integers_.size();
        break;
      case FORERUN_ATTRIBUTE_COMPLEX:
      case FORERUN_ATTRIBUTE_FLOATS:
        made.data = reals_.data();
        made.count = reals_.size();
        break;
      case FORERUN_ATTRIBUTE_TEXT:
        made.data = text_.c_str();
        break;
      default:
        break;
    }
    return made;
  }

 private:
  const char *name_;
  std::uint32_t kind_ = 0;
  std::int64_t integer_ = 0;
  double real_ = 0;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
  std::string text_;
};

/* Submits an op by its name, with arrays and numbers as inputs; returns its results. docs/catalogue.json lists all ops. */
inline std::vector<Array> call_all(const char *op, std::initializer_list<Operand> inputs,
                                   std::initializer_list<Attribute> attributes = {}, Here here = Here::now()) {
  std::vector<forerun_argument> arguments;
  for (const Operand &input : inputs) arguments.push_back(input.argument());
  std::vector<forerun_attribute> named;
  for (const Attribute &attribute : attributes) named.push_back(attribute.get());
  forerun_array *made[8] = {};
  std::size_t count = 0;
  detail::at(here);
  detail::check(forerun_call(op, arguments.data(), arguments.size(), named.data(), named.size(), made, 8, &count));
  std::vector<Array> results;
  for (std::size_t k = 0; k < count; ++k) results.emplace_back(made[k]);
  return results;
}
/* The same for an op with one result; of others, the first. */
inline Array call(const char *op, std::initializer_list<Operand> inputs,
                  std::initializer_list<Attribute> attributes = {}, Here here = Here::now()) {
  return std::move(call_all(op, inputs, attributes, here).front());
}

inline Array softmax(const Array &x, std::int64_t axis = -1, Here here = Here::now()) {
  return call("softmax", {x}, {{"axis", axis}}, here);
}
inline Array log_softmax(const Array &x, std::int64_t axis = -1, Here here = Here::now()) {
  return call("log_softmax", {x}, {{"axis", axis}}, here);
}

/* Elements that are not copied and never change, for as long as the view lives. T is the type of the dtype. */
template <class T>
class View {
 public:
  explicit View(const Array &array) {
    if (array.dtype() != dtype_of<T>) throw std::invalid_argument("view: the array has another dtype");
    forerun_snapshot *taken = nullptr;
    detail::check(forerun_snapshot_take(array.handle(), &taken));
    own_ = decltype(own_)(taken);
    shape_ = array.shape();
    strides_.resize(shape_.size());
    const void *data = nullptr;
    detail::check(forerun_snapshot_describe(taken, &data, nullptr, nullptr, strides_.data(), strides_.size()));
    data_ = static_cast<const T *>(data);
  }
  /* The first element. */
  const T *data() const { return data_; }
  const Shape &shape() const { return shape_; }
  /* In elements; may be negative. */
  const Shape &strides() const { return strides_; }
  std::size_t size() const {
    std::size_t size = 1;
    for (std::int64_t extent : shape_) size *= static_cast<std::size_t>(extent);
    return size;
  }
  /* An element by its position. */
  template <class... Positions>
  const T &operator()(Positions... positions) const {
    const std::int64_t at[] = {static_cast<std::int64_t>(positions)..., 0};
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < sizeof...(positions); ++axis) offset += at[axis] * strides_[axis];
    return data_[offset];
  }

#if defined(__cpp_lib_mdspan)
  /* As a std::mdspan of the same rank. */
  template <std::size_t Rank>
  auto mdspan() const {
    if (shape_.size() != Rank) throw std::invalid_argument("mdspan: the array has another rank");
    std::array<std::int64_t, Rank> extents{}, strides{};
    std::copy(shape_.begin(), shape_.end(), extents.begin());
    std::copy(strides_.begin(), strides_.end(), strides.begin());
    using Extents = std::dextents<std::int64_t, Rank>;
    return std::mdspan<const T, Extents, std::layout_stride>(
        data_, std::layout_stride::mapping<Extents>(Extents(extents), strides));
  }
#endif

#if defined(FORERUN_HAS_EIGEN)
  /* A matrix as an Eigen map. */
  auto eigen() const {
    if (shape_.size() != 2) throw std::invalid_argument("eigen: the array is not a matrix");
    using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    return Eigen::Map<const Matrix, Eigen::Unaligned, Strides>(data_, shape_[0], shape_[1],
                                                              Strides(strides_[0], strides_[1]));
  }
#endif

 private:
  detail::Owner<forerun_snapshot, forerun_snapshot_free> own_;
  const T *data_ = nullptr;
  Shape shape_, strides_;
};

template <class T>
View<T> Array::view(Here here) const {
  detail::at(here);
  return View<T>(*this);
}

template <class T>
std::future<std::vector<T>> Array::async(Here here) const {
  struct Waiting {
    std::promise<std::vector<T>> promise;
    Array array;
    Here here;
  };
  auto waiting = std::make_unique<Waiting>();
  waiting->array = dtype() == dtype_of<T> ? *this : astype(dtype_of<T>, here);
  waiting->here = here;
  auto future = waiting->promise.get_future();
  detail::at(here);
  detail::check(forerun_when_ready(
      waiting->array.handle(),
      [](void *context, forerun_status status) {
        std::unique_ptr<Waiting> own(static_cast<Waiting *>(context));
        try {
          detail::check(status);
          own->promise.set_value(own->array.template to_vector<T>(own->here));
        } catch (...) {
          own->promise.set_exception(std::current_exception());
        }
      },
      waiting.get()));
  // From here on the callback owns it.
  static_cast<void>(waiting.release());
  return future;
}

/* Records the ops of this thread, in training mode, until the end of the scope. */
class Record {
 public:
  Record() : recording_(forerun_set_recording(true)), training_(forerun_set_training(true)) {}
  ~Record() {
    forerun_set_recording(recording_);
    forerun_set_training(training_);
  }
  Record(const Record &) = delete;
  Record &operator=(const Record &) = delete;

 private:
  bool recording_, training_;
};

/* Runs a function with its ops recorded; returns its result. */
template <class Function>
auto record(Function function) {
  Record scope;
  return function();
}

inline void backward(const std::vector<Array> &heads, bool retain = false, Here here = Here::now()) {
  const auto handles = detail::handles(heads);
  detail::at(here);
  detail::check(forerun_backward(handles.data(), handles.size(), nullptr, retain));
}
/* The gradients of these variables; the stored ones do not change. */
inline std::vector<Array> gradients(const std::vector<Array> &heads, const std::vector<Array> &variables,
                                    bool retain = false, bool create_graph = false, Here here = Here::now()) {
  const auto from = detail::handles(heads), to = detail::handles(variables);
  std::vector<forerun_array *> made(variables.size());
  detail::at(here);
  detail::check(forerun_gradients(from.data(), from.size(), nullptr, to.data(), to.size(), retain, create_graph,
                                  made.data()));
  return std::vector<Array>(made.begin(), made.end());
}

/* An optimiser of variables: Optimiser("sgd", {w, b}, {{"learning_rate", 0.1}}). */
class Optimiser {
 public:
  Optimiser(const char *rule, const std::vector<Array> &weights, std::initializer_list<Attribute> options = {}) {
    const auto handles = detail::handles(weights);
    std::vector<forerun_attribute> named;
    for (const Attribute &option : options) named.push_back(option.get());
    forerun_optimiser *made = nullptr;
    detail::check(
        forerun_optimiser_create(rule, handles.data(), handles.size(), named.data(), named.size(), &made));
    own_ = decltype(own_)(made);
  }
  /* One step with gradients summed over this many samples. */
  void step(std::size_t batch, Here here = Here::now()) {
    detail::at(here);
    detail::check(forerun_optimiser_step(own_.get(), batch));
  }
  void set_learning_rate(double rate) { detail::check(forerun_optimiser_set_learning_rate(own_.get(), rate)); }

 private:
  detail::Owner<forerun_optimiser, forerun_optimiser_free> own_;
};

/* Named arrays of a file, in the order of the file. */
using Named = std::vector<std::pair<std::string, Array>>;

/* Waits for arrays and writes them to a file. */
inline void save(const std::string &path, const Named &arrays, Here here = Here::now()) {
  std::vector<const char *> names;
  std::vector<const forerun_array *> handles;
  for (const auto &[name, array] : arrays) {
    names.push_back(name.c_str());
    handles.push_back(array.handle());
  }
  detail::at(here);
  detail::check(forerun_save(path.c_str(), names.data(), handles.data(), names.size()));
}
/* Reads all arrays of a file. */
inline Named load(const std::string &path, Here here = Here::now()) {
  detail::at(here);
  forerun_archive *opened = nullptr;
  detail::check(forerun_load(path.c_str(), &opened));
  const detail::Owner<forerun_archive, forerun_archive_free> archive(opened);
  std::size_t count = 0;
  detail::check(forerun_archive_count(opened, &count));
  Named arrays;
  for (std::size_t number = 0; number < count; ++number) {
    const char *name = nullptr;
    forerun_array *array = nullptr;
    detail::check(forerun_archive_name(opened, number, &name));
    detail::check(forerun_archive_array(opened, number, &array));
    arrays.emplace_back(name, Array(array));
  }
  return arrays;
}

/* A network that was exported to files. */
class Network {
 public:
  Network(const std::string &graph, const std::string &parameters, Here here = Here::now()) {
    detail::at(here);
    forerun_network *made = nullptr;
    detail::check(forerun_network_load(graph.c_str(), parameters.c_str(), &made));
    own_ = decltype(own_)(made);
  }
  /* The outputs for these inputs. */
  std::vector<Array> run(const std::vector<Array> &inputs, Here here = Here::now()) const {
    const auto handles = detail::handles(inputs);
    forerun_array *made[64] = {};
    std::size_t count = 0;
    detail::at(here);
    detail::check(forerun_network_run(own_.get(), handles.data(), handles.size(), made, 64, &count));
    return std::vector<Array>(made, made + count);
  }
  /* The first output for one input. */
  Array operator()(const Array &input, Here here = Here::now()) const { return run({input}, here).at(0); }

 private:
  detail::Owner<forerun_network, forerun_network_free> own_;
};

}  // namespace forerun

#endif  // FORERUN_HPP
