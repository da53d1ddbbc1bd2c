/* Random calls with wrong arguments: each gives a status, and an error has a text. Nothing crashes.
 *
 *     fuzz [SEED [CALLS]]
 */
#include "check.h"

static uint64_t state;

/* A random number below a limit. */
static uint64_t below(uint64_t limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % limit;
}

static int64_t small(void) { return (int64_t)below(9) - 3; }

static int64_t number(void) {
  static const int64_t edges[] = {0, 1, -1, 2, 64, -64, INT64_C(1) << 45, INT64_MIN, INT64_MAX};
  return below(6) == 0 ? edges[below(sizeof edges / sizeof *edges)] : small();
}

enum { HANDLES = 24 };
static forerun_array *handles[HANDLES];
static size_t failed, succeeded;

/* A handle that is alive, null or, where the library detects it, was freed. */
static forerun_array *handle(void) {
  static forerun_array *stale = NULL;
  if (detects_stale_handles() && stale == NULL) {
    OK(forerun_share(handles[0], &stale));
    OK(forerun_free(stale));
  }
  if (below(20) == 0) return NULL;
  if (detects_stale_handles() && below(20) == 0) return stale;
  return handles[below(HANDLES)];
}

/* Counts a status; an error has a text. */
static void judge(forerun_status status) {
  if (status == FORERUN_OK) {
    ++succeeded;
    return;
  }
  ++failed;
  CHECK(status >= FORERUN_ERROR_VALUE && status <= FORERUN_ERROR_HANDLE);
  CHECK(forerun_error_status() == status && forerun_error_text()[0] != '\0');
}

/* Keeps a result in place of another handle, or frees it. */
static void keep(forerun_status status, forerun_array *made) {
  judge(status);
  if (status != FORERUN_OK) return;
  size_t size;
  OK(forerun_size(made, &size));
  if (below(4) == 0 && size < 4096) {
    const size_t place = below(HANDLES);
    OK(forerun_free(handles[place]));
    handles[place] = made;
  } else {
    judge(forerun_wait(made));
    OK(forerun_free(made));
  }
}

static forerun_argument argument(void) {
  switch (below(8)) {
    case 0:
      return forerun_bool(below(2));
    case 1:
      return forerun_int(number());
    case 2:
      return forerun_float((double)number() / 2);
    case 3:
      return forerun_complex(1.5, (double)small());
    case 4: {
      forerun_argument wrong = forerun_of(handle());
      wrong.kind = (uint32_t)below(99);
      /* An address as a number is harmless, a number as an address is not. */
      if (wrong.kind == FORERUN_ARGUMENT_FLOAT || wrong.kind == FORERUN_ARGUMENT_COMPLEX) return forerun_float(0.5);
      return wrong;
    }
    default:
      return forerun_of(handle());
  }
}

static const char *const names[] = {
    "axis",    "keepdims", "mode",   "dtype",  "shape",  "kind",   "p",      "training", "eps",     "depth",
    "stride",  "padding",  "kernel", "groups", "extents", "dilation", "count", "length",  "scale",   "bins",
    "extents", "strides",  "index",  "places", "shares", "steps",  "batch",  "divisor",  "samples", "wrong",
};

static const char *const texts[] = {"raise", "clip", "wrap", "float32", "int64", "bool", "relu", "gpu:77", "", "\xff"};

static void attribute(forerun_attribute *made, const char *name) {
  static int64_t integers[64][8];
  static double reals[64][8];
  static size_t next;
  int64_t *list = integers[next % 64];
  double *floats = reals[next++ % 64];
  memset(made, 0, sizeof *made);
  made->name = below(40) == 0 ? NULL : name;
  made->kind = (uint32_t)below(11);
  made->integer = number();
  made->real = (double)number() / 3;
  made->count = below(6);
  for (size_t k = 0; k < 8; ++k) {
    list[k] = below(2) ? (int64_t)below(4) : number();
    floats[k] = (double)number() / 2;
  }
  switch (made->kind) {
    case FORERUN_ATTRIBUTE_INTS:
      made->data = list;
      break;
    case FORERUN_ATTRIBUTE_FLOATS:
    case FORERUN_ATTRIBUTE_COMPLEX:
      made->data = floats;
      break;
    case FORERUN_ATTRIBUTE_TEXT:
      made->data = texts[below(sizeof texts / sizeof *texts)];
      break;
    default:
      break;
  }
  if (below(50) == 0) made->data = NULL;
}

/* The attributes that a call misses, from its errors: so that calls get further than their names. */
static size_t complete(const char *op, const forerun_argument *inputs, size_t count, forerun_attribute *attributes) {
  static char kept[16][32];
  size_t found = 0;
  for (; found < 10; ++found) {
    forerun_array *made[8];
    size_t results;
    const forerun_status status = forerun_call(op, inputs, count, attributes, found, made, 8, &results);
    if (status == FORERUN_OK) {
      for (size_t k = 0; k < results; ++k) keep(FORERUN_OK, made[k]);
      return found;
    }
    judge(status);
    const char *name = strstr(forerun_error_text(), "attribute "), *rest;
    if (name == NULL || (rest = strstr(name, " is missing")) == NULL) return found;
    name += strlen("attribute ");
    snprintf(kept[found], sizeof kept[found], "%.*s", (int)(rest - name), name);
    attribute(&attributes[found], kept[found]);
  }
  return found;
}

static void by_name(void) {
  static const char *const strange[] = {"", "no such op", "view", "update", "\xc3\x28", "ADD"};
  const char *op = below(30) == 0 ? strange[below(6)] : forerun_op_name(below(forerun_op_count()));
  forerun_argument inputs[8];
  const size_t count = below(6);
  for (size_t k = 0; k < count; ++k) inputs[k] = argument();
  forerun_attribute attributes[16];
  if (below(2)) {
    complete(op, inputs, count, attributes);
    return;
  }
  const size_t given = below(4);
  for (size_t k = 0; k < given; ++k) attribute(&attributes[k], names[below(sizeof names / sizeof *names)]);
  forerun_array *made[8];
  size_t results = 0;
  const size_t capacity = below(10) == 0 ? 0 : 8;
  const forerun_status status = forerun_call(below(50) ? op : NULL, below(50) ? inputs : NULL, count, attributes,
                                             given, below(50) ? made : NULL, capacity, &results);
  if (status != FORERUN_OK) {
    judge(status);
    return;
  }
  for (size_t k = 0; k < results; ++k) keep(FORERUN_OK, made[k]);
}

static void by_function(void) {
  int64_t list[6];
  forerun_index items[6];
  const size_t count = below(6);
  for (size_t k = 0; k < 6; ++k) {
    list[k] = number();
    const forerun_index item = {(uint32_t)below(5), number(), number(), number()};
    items[k] = item;
  }
  forerun_array *x = handle(), *y = handle(), *made = NULL;
  forerun_status status;
  const int64_t *axes = below(6) ? list : NULL;
  switch (below(18)) {
    case 0:
      status = forerun_reshape(x, axes, count, &made);
      break;
    case 1:
      status = forerun_transpose(x, axes, count, &made);
      break;
    case 2:
      status = forerun_slice(x, items, count, &made);
      break;
    case 3:
      status = forerun_sum(x, axes, count, below(2), &made);
      break;
    case 4:
      status = forerun_argmax(x, axes, count, below(2), &made);
      break;
    case 5:
      status = forerun_matmul(x, y, &made);
      break;
    case 6:
      status = forerun_take(x, y, number(), texts[below(10)], &made);
      break;
    case 7: {
      const forerun_array *all[] = {x, y, handle()};
      status = forerun_concatenate(all, below(4), number(), &made);
      break;
    }
    case 8:
      status = forerun_astype(x, (forerun_dtype)below(18) - 2, &made);
      break;
    case 9:
      status = forerun_where(x, argument(), argument(), &made);
      break;
    case 10:
      status = forerun_assign(x, argument());
      break;
    case 11:
      status = forerun_multiply_in_place(x, argument());
      break;
    case 12: {
      for (size_t k = 0; k < 6; ++k) list[k] = small();
      const forerun_dtype dtype = (forerun_dtype)below(18) - 2;
      status = forerun_zeros(below(20) ? list : NULL, below(4), dtype, &made);
      break;
    }
    case 13: {
      forerun_set_recording(true);
      const forerun_array *head = x;
      judge(forerun_attach_grad(y, (int32_t)below(4)));
      judge(forerun_multiply(argument(), forerun_of(y), &made));
      forerun_set_recording(false);
      judge(forerun_backward(&head, 1, NULL, below(2)));
      /* After the last use of the handles, which this may free. */
      if (made != NULL) keep(FORERUN_OK, made);
      return;
    }
    case 14: {
      char text[16];
      size_t length;
      status = forerun_format(x, text, below(16), &length);
      break;
    }
    case 15: {
      double found;
      status = forerun_item_double(x, below(20) ? &found : NULL);
      break;
    }
    case 16: {
      unsigned char bytes[64];
      status = forerun_read(x, bytes, below(65));
      break;
    }
    default:
      status = forerun_broadcast_to(x, axes, count, &made);
  }
  if (made == NULL) {
    judge(status);
  } else {
    keep(status, made);
  }
}

int main(int count, char **words) {
  const uint64_t seed = count > 1 ? strtoull(words[1], NULL, 10) : 1;
  const uint64_t calls = count > 2 ? strtoull(words[2], NULL, 10) : 20000;
  state = seed * 0x9e3779b97f4a7c15u + 1;
  for (size_t k = 0; k < HANDLES; ++k) {
    static const int64_t shapes[][3] = {{4, 0, 0}, {2, 3, 0}, {2, 3, 4}, {0, 3, 0}, {1, 0, 0}, {3, 3, 0}};
    static const size_t ranks[] = {1, 2, 3, 2, 0, 2};
    forerun_array *drawn;
    OK(forerun_uniform(shapes[k % 6], ranks[k % 6], -3, 5, FORERUN_FLOAT32, &drawn));
    OK(forerun_astype(drawn, (forerun_dtype)(k % 15), &handles[k]));
    OK(forerun_free(drawn));
  }
  for (uint64_t k = 0; k < calls; ++k) {
    FORERUN_HERE;
    if (below(2)) {
      by_name();
    } else {
      by_function();
    }
  }
  for (size_t k = 0; k < HANDLES; ++k) OK(forerun_free(handles[k]));
  forerun_wait_all();
  printf("%zu calls succeeded, %zu gave an error\n", succeeded, failed);
  CHECK(succeeded > calls / 20 && failed > calls / 20);
  return 0;
}
