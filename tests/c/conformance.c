/* Calls every sample of the catalogue through the C interface, and compares the results with Rust's, bit for bit.
 *
 *     conformance SAMPLES, what `cargo run -p forerun-capi --example conformance` prints
 */
#include "check.h"

enum { MOST = 64 };

/* The next word of the input; the program ends with a message if there is none. */
static char *word(char **at) {
  char *found = strtok_r(NULL, " \n", at);
  CHECK(found != NULL);
  return found;
}

static int64_t integer(char **at) { return strtoll(word(at), NULL, 10); }

static double real(char **at) { return strtod(word(at), NULL); }

static size_t shape_of(char **at, int64_t *shape) {
  const size_t rank = (size_t)integer(at);
  CHECK(rank <= MOST);
  for (size_t axis = 0; axis < rank; ++axis) shape[axis] = integer(at);
  return rank;
}

static unsigned digit(char c) { return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10); }

static unsigned char *bytes_of(char **at, size_t *count) {
  *count = (size_t)integer(at);
  const char *digits = word(at) + 1;
  unsigned char *bytes = malloc(*count + 1);
  CHECK(bytes != NULL);
  for (size_t k = 0; k < *count; ++k) bytes[k] = (unsigned char)(digit(digits[2 * k]) << 4 | digit(digits[2 * k + 1]));
  return bytes;
}

/* Whether a float of this width is NaN: which of its bits are set differs between compilers. */
static bool is_nan(forerun_dtype dtype, const unsigned char *bytes) {
  uint16_t half;
  float single;
  double twice;
  switch (dtype) {
    case FORERUN_FLOAT16:
      memcpy(&half, bytes, sizeof half);
      return (half & 0x7c00) == 0x7c00 && (half & 0x03ff) != 0;
    case FORERUN_BFLOAT16:
      memcpy(&half, bytes, sizeof half);
      return (half & 0x7f80) == 0x7f80 && (half & 0x007f) != 0;
    case FORERUN_FLOAT32:
      memcpy(&single, bytes, sizeof single);
      return single != single;
    case FORERUN_FLOAT64:
      memcpy(&twice, bytes, sizeof twice);
      return twice != twice;
    default:
      return false;
  }
}

static bool same(forerun_dtype dtype, const unsigned char *a, const unsigned char *b, size_t count) {
  const forerun_dtype part = dtype == FORERUN_COMPLEX64    ? FORERUN_FLOAT32
                             : dtype == FORERUN_COMPLEX128 ? FORERUN_FLOAT64
                                                           : dtype;
  const size_t size = forerun_dtype_size(part);
  for (size_t k = 0; k < count; k += size) {
    if (memcmp(a + k, b + k, size) != 0 && !(is_nan(part, a + k) && is_nan(part, b + k))) return false;
  }
  return true;
}

/* One call: what was read of it. */
typedef struct {
  char op[64];
  forerun_argument inputs[MOST];
  forerun_array *owned[MOST];
  size_t input_count;
  forerun_attribute attributes[MOST];
  size_t attribute_count;
  forerun_array *results[MOST];
  size_t result_count, compared;
  forerun_status status;
  bool called;
} sample;

static void read_array(sample *now, char **at) {
  const char *look = word(at);
  const forerun_dtype dtype = (forerun_dtype)integer(at);
  int64_t shape[MOST], base_shape[MOST];
  const size_t rank = shape_of(at, shape), base_rank = shape_of(at, base_shape);
  size_t count;
  unsigned char *bytes = bytes_of(at, &count);
  forerun_array *base, *seen;
  OK(forerun_from_data(bytes, dtype, base_shape, base_rank, &base));
  free(bytes);
  if (strcmp(look, "transposed") == 0) {
    OK(forerun_transpose(base, NULL, 0, &seen));
  } else if (strcmp(look, "backwards") == 0) {
    const forerun_index items[] = {{FORERUN_INDEX_ELLIPSIS, 0, 0, 1},
                                   {FORERUN_INDEX_SLICE, FORERUN_END, FORERUN_END, -2}};
    OK(forerun_slice(base, items, 2, &seen));
  } else if (strcmp(look, "repeated") == 0) {
    OK(forerun_broadcast_to(base, shape, rank, &seen));
  } else {
    CHECK(strcmp(look, "dense") == 0);
    OK(forerun_share(base, &seen));
  }
  forerun_free(base);
  now->owned[now->input_count] = seen;
  now->inputs[now->input_count++] = forerun_of(seen);
}

static void read_attribute(sample *now, char **at) {
  forerun_attribute *made = &now->attributes[now->attribute_count++];
  memset(made, 0, sizeof *made);
  made->name = word(at);
  made->kind = (uint32_t)integer(at);
  switch (made->kind) {
    case FORERUN_ATTRIBUTE_FLOAT:
      made->real = real(at);
      break;
    case FORERUN_ATTRIBUTE_TEXT:
      made->data = word(at);
      break;
    case FORERUN_ATTRIBUTE_INTS:
    case FORERUN_ATTRIBUTE_FLOATS: {
      made->count = (size_t)integer(at);
      int64_t *integers = calloc(made->count + 1, sizeof *integers);
      double *reals = (double *)integers;
      CHECK(integers != NULL);
      for (size_t k = 0; k < made->count; ++k) {
        if (made->kind == FORERUN_ATTRIBUTE_INTS) {
          integers[k] = integer(at);
        } else {
          reals[k] = real(at);
        }
      }
      made->data = integers;
      break;
    }
    default:
      made->integer = integer(at);
  }
}

/* What has no attributes in C, by the functions for it. */
static forerun_status call_by_function(sample *now) {
  const forerun_array *x = now->inputs[0].content.array;
  forerun_array **out = &now->results[0];
  now->result_count = 1;
  if (strcmp(now->op, "view") == 0) {
    const forerun_attribute *axes = &now->attributes[0];
    return forerun_transpose(x, axes->data, axes->count, out);
  }
  CHECK(strcmp(now->op, "update") == 0);
  const forerun_index rest = {FORERUN_INDEX_SLICE, 1, FORERUN_END, 1};
  forerun_array *region;
  OK(forerun_copy(x, out));
  OK(forerun_slice(*out, &rest, 1, &region));
  const forerun_status status = forerun_assign(region, now->inputs[1]);
  forerun_free(region);
  if (status != FORERUN_OK) {
    forerun_free(*out);
    now->result_count = 0;
  }
  return status;
}

/* Calls the op, unless that was done. The status is that of the call, or of reading its results. */
static void call(sample *now) {
  if (now->called) return;
  now->called = true;
  forerun_seed(3);
  const bool by_function = strcmp(now->op, "view") == 0 || strcmp(now->op, "update") == 0;
  now->status = by_function ? call_by_function(now)
                            : forerun_call(now->op, now->inputs, now->input_count, now->attributes,
                                           now->attribute_count, now->results, MOST, &now->result_count);
  if (now->status != FORERUN_OK) {
    now->result_count = 0;
    return;
  }
  for (size_t k = 0; k < now->result_count && now->status == FORERUN_OK; ++k) now->status = forerun_wait(now->results[k]);
  if (strcmp(now->op, "batch_norm") == 0) {
    /* It also writes two of its inputs. */
    for (size_t k = 3; k < 5; ++k) OK(forerun_share(now->owned[k], &now->results[now->result_count++]));
  }
}

static void compare(sample *now, char **at) {
  const forerun_dtype dtype = (forerun_dtype)integer(at);
  int64_t shape[MOST], own_shape[MOST];
  const size_t rank = shape_of(at, shape);
  size_t count, own_rank;
  unsigned char *wanted = bytes_of(at, &count);
  CHECK(now->compared < now->result_count);
  forerun_array *result = now->results[now->compared++];
  forerun_dtype own_dtype;
  OK(forerun_dtype_of(result, &own_dtype));
  OK(forerun_rank(result, &own_rank));
  OK(forerun_shape(result, own_shape, MOST));
  CHECK(own_dtype == dtype && own_rank == rank);
  CHECK(rank == 0 || memcmp(shape, own_shape, rank * sizeof *shape) == 0);
  unsigned char *found = malloc(count + 1);
  CHECK(found != NULL);
  OK(forerun_read(result, found, count));
  if (!same(dtype, wanted, found, count)) {
    fprintf(stderr, "%s of %s: the bits differ\n", now->op, forerun_dtype_name(dtype));
    exit(1);
  }
  free(wanted);
  free(found);
}

static void end(sample *now) {
  CHECK(now->called && now->compared == (now->status == FORERUN_OK ? now->result_count : 0));
  for (size_t k = 0; k < now->input_count; ++k) OK(forerun_free(now->owned[k]));
  for (size_t k = 0; k < now->result_count; ++k) OK(forerun_free(now->results[k]));
  for (size_t k = 0; k < now->attribute_count; ++k) {
    const uint32_t kind = now->attributes[k].kind;
    if (kind == FORERUN_ATTRIBUTE_INTS || kind == FORERUN_ATTRIBUTE_FLOATS) free((void *)now->attributes[k].data);
  }
}

/* The content of a file. */
static char *everything(const char *path) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  size_t size = 0, capacity = 1 << 20;
  char *text = malloc(capacity);
  CHECK(text != NULL);
  for (size_t got; (got = fread(text + size, 1, capacity - size - 1, file)) > 0;) {
    size += got;
    if (capacity - size < 2) {
      text = realloc(text, capacity *= 2);
      CHECK(text != NULL);
    }
  }
  fclose(file);
  text[size] = '\0';
  return text;
}

int main(int count, char **words) {
  CHECK(count == 2);
  char *text = everything(words[1]);
  char *rest = text, *line;
  size_t calls = 0;
  static sample now;
  while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
    char *at = NULL;
    const char *first = strtok_r(line, " ", &at);
    if (strcmp(first, "op") == 0) {
      memset(&now, 0, sizeof now);
      snprintf(now.op, sizeof now.op, "%s", word(&at));
      forerun_set_line(__FILE__, (uint32_t)calls);
    } else if (strcmp(first, "array") == 0) {
      read_array(&now, &at);
    } else if (strcmp(first, "number") == 0) {
      const uint32_t kind = (uint32_t)integer(&at);
      const double re = real(&at), im = real(&at);
      now.inputs[now.input_count++] = kind == FORERUN_ARGUMENT_BOOL    ? forerun_bool(re != 0)
                                      : kind == FORERUN_ARGUMENT_INT   ? forerun_int((int64_t)re)
                                      : kind == FORERUN_ARGUMENT_FLOAT ? forerun_float(re)
                                                                       : forerun_complex(re, im);
    } else if (strcmp(first, "tied") == 0) {
      now.inputs[now.input_count++] = now.inputs[0];
    } else if (strcmp(first, "attribute") == 0) {
      read_attribute(&now, &at);
    } else if (strcmp(first, "result") == 0) {
      call(&now);
      if (now.status != FORERUN_OK) fprintf(stderr, "%s: %s\n", now.op, forerun_error_text());
      CHECK(now.status == FORERUN_OK);
      compare(&now, &at);
    } else if (strcmp(first, "error") == 0) {
      call(&now);
      const forerun_status wanted = (forerun_status)integer(&at);
      integer(&at);
      if (now.status != wanted || strstr(forerun_error_text(), at) == NULL) {
        fprintf(stderr, "%s: status %d and \"%s\", not %d and \"%s\"\n", now.op, now.status, forerun_error_text(),
                wanted, at);
        exit(1);
      }
    } else {
      CHECK(strcmp(first, "end") == 0);
      end(&now);
      ++calls;
    }
  }
  free(text);
  CHECK(calls > 1000);
  printf("%zu calls have the results of Rust\n", calls);
  return 0;
}
