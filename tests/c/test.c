/* The C interface: what its functions do, and what they say if they cannot. */
#include <math.h>
#include <pthread.h>

#include "check.h"

static forerun_array *vector(const float *elements, int64_t count) {
  forerun_array *made;
  OK(forerun_from_data(elements, FORERUN_FLOAT32, &count, 1, &made));
  return made;
}

/* Whether the array has these elements, as floats. */
static bool has(const forerun_array *x, const float *elements, size_t count) {
  float found[64];
  OK(forerun_read(x, found, count * sizeof *found));
  return memcmp(found, elements, count * sizeof *found) == 0;
}

static void versions(void) {
  CHECK(forerun_abi_version() == FORERUN_ABI_VERSION);
  CHECK(strchr(forerun_version(), '.') != NULL);
  CHECK(strcmp(forerun_dtype_name(FORERUN_BFLOAT16), "bfloat16") == 0);
  for (forerun_dtype dtype = FORERUN_BOOL; dtype <= FORERUN_COMPLEX128; ++dtype) {
    forerun_dtype named;
    OK(forerun_dtype_named(forerun_dtype_name(dtype), &named));
    CHECK(named == dtype && forerun_dtype_size(dtype) > 0);
  }
  CHECK(forerun_dtype_size(FORERUN_COMPLEX128) == 16 && forerun_dtype_size(99) == 0);
  CHECK(forerun_dtype_name(99) == NULL);
}

static void the_first_lines(void) {
  const int64_t shape[] = {1, 2};
  forerun_array *x, *y, *product, *z;
  OK(forerun_ones(shape, 2, FORERUN_DEFAULT, &x));
  OK(forerun_ones(shape, 2, FORERUN_DEFAULT, &y));
  OK(forerun_multiply(forerun_of(x), forerun_of(y), &product));
  OK(forerun_add(forerun_of(product), forerun_int(2), &z));
  char text[32];
  size_t length;
  OK(forerun_format(z, text, sizeof text, &length));
  CHECK(strcmp(text, "[[3. 3.]]") == 0 && length == strlen(text));
  OK(forerun_format(z, text, 4, &length));
  CHECK(strcmp(text, "[[3") == 0 && length == 9);
  /* Without elements the extents do not matter, however large they are. */
  const int64_t long_shape[] = {INT64_C(1) << 45, 0};
  forerun_array *empty;
  OK(forerun_zeros(long_shape, 2, FORERUN_DEFAULT, &empty));
  OK(forerun_format(empty, text, sizeof text, &length));
  CHECK(strcmp(text, "[]") == 0);
  OK(forerun_free(empty));
  bool ready = false;
  OK(forerun_is_ready(z, &ready));
  CHECK(ready);
  OK(forerun_wait_all());
  forerun_array *all[] = {x, y, product, z};
  for (size_t k = 0; k < 4; ++k) OK(forerun_free(all[k]));
}

static void creation_and_views(void) {
  const int64_t shape[] = {3, 4};
  forerun_array *flat, *x, *row, *t, *part, *joined;
  OK(forerun_arange(forerun_int(0), forerun_int(12), forerun_int(1), FORERUN_FLOAT32, &flat));
  OK(forerun_reshape(flat, shape, 2, &x));
  size_t size, rank;
  int64_t extents[2];
  OK(forerun_size(x, &size));
  OK(forerun_rank(x, &rank));
  OK(forerun_shape(x, extents, 2));
  CHECK(size == 12 && rank == 2 && extents[0] == 3 && extents[1] == 4);
  FAILS(forerun_shape(x, extents, 1), FORERUN_ERROR_VALUE, "do not fit");

  const forerun_index first = {FORERUN_INDEX_AT, -1, 0, 1};
  OK(forerun_slice(x, &first, 1, &row));
  CHECK(has(row, (float[]){8, 9, 10, 11}, 4));
  const forerun_index items[] = {{FORERUN_INDEX_SLICE, 1, FORERUN_END, 1}, {FORERUN_INDEX_SLICE, FORERUN_END, FORERUN_END, -2}};
  OK(forerun_slice(x, items, 2, &part));
  CHECK(has(part, (float[]){7, 5, 11, 9}, 4));
  /* A view shares the elements. */
  OK(forerun_assign(part, forerun_int(0)));
  OK(forerun_add_in_place(row, forerun_float(0.5)));
  CHECK(has(x, (float[]){0, 1, 2, 3, 4, 0, 6, 0, 8.5f, 0.5f, 10.5f, 0.5f}, 12));
  OK(forerun_transpose(x, NULL, 0, &t));
  OK(forerun_shape(t, extents, 2));
  CHECK(extents[0] == 4);
  const forerun_array *two[] = {x, x};
  OK(forerun_concatenate(two, 2, 0, &joined));
  OK(forerun_size(joined, &size));
  CHECK(size == 24);

  forerun_snapshot *snapshot;
  const void *data;
  int64_t strides[2];
  forerun_dtype dtype;
  OK(forerun_snapshot_take(t, &snapshot));
  OK(forerun_snapshot_describe(snapshot, &data, &dtype, extents, strides, 2));
  CHECK(dtype == FORERUN_FLOAT32 && strides[0] == 1 && strides[1] == 4);
  OK(forerun_assign(x, forerun_int(7)));
  CHECK(((const float *)data)[1] == 1);
  OK(forerun_snapshot_free(snapshot));
  forerun_array *all[] = {flat, x, row, part, t, joined};
  for (size_t k = 0; k < 6; ++k) OK(forerun_free(all[k]));
}

static void ops_by_name(void) {
  CHECK(forerun_op_count() > 150 && forerun_op_name(forerun_op_count()) == NULL);
  forerun_array *x = vector((float[]){3, 1, 2}, 3), *y;
  forerun_argument input = forerun_of(x);
  forerun_attribute attributes[] = {{.name = "axis", .kind = FORERUN_ATTRIBUTE_INT, .integer = 0},
                                    {.name = "descending", .kind = FORERUN_ATTRIBUTE_BOOL, .integer = 1}};
  size_t count = 0;
  OK(forerun_call("sort", &input, 1, attributes, 2, &y, 1, &count));
  CHECK(count == 1 && has(y, (float[]){3, 2, 1}, 3));
  OK(forerun_free(y));
  FAILS(forerun_call("sort", &input, 1, attributes + 1, 1, &y, 1, NULL), FORERUN_ERROR_TYPE, "sort: attribute axis is missing");
  attributes[1].name = "down";
  FAILS(forerun_call("sort", &input, 1, attributes, 2, &y, 1, NULL), FORERUN_ERROR_TYPE, "sort: unexpected attribute down");
  attributes[0].kind = FORERUN_ATTRIBUTE_TEXT;
  attributes[0].data = "first";
  FAILS(forerun_call("sort", &input, 1, attributes, 1, &y, 1, NULL), FORERUN_ERROR_TYPE, "attribute axis must be an integer");
  FAILS(forerun_call("sorted", &input, 1, NULL, 0, &y, 1, NULL), FORERUN_ERROR_VALUE, "there is no op sorted");
  FAILS(forerun_call("view", &input, 1, NULL, 0, &y, 1, NULL), FORERUN_ERROR_VALUE, "forerun_slice");
  FAILS(forerun_call("add", &input, 1, NULL, 0, &y, 1, NULL), FORERUN_ERROR_TYPE, "add: takes 2 inputs, got 1");
  OK(forerun_free(x));
}

/* A failed op names the line that submitted it and the line that read it. */
static void both_lines(void) {
  const int64_t far = 9;
  forerun_array *x = vector((float[]){1, 2}, 2), *at, *taken, *after;
  OK(forerun_from_data(&far, FORERUN_INT64, NULL, 0, &at));
  const unsigned submitted = __LINE__ + 1;
  CHECK(FORERUN_AT(forerun_take(x, at, 0, NULL, &taken)) == FORERUN_OK);
  OK(forerun_add(forerun_of(taken), forerun_int(1), &after));
  const unsigned read = __LINE__ + 1;
  CHECK(FORERUN_AT(forerun_wait(after)) == FORERUN_ERROR_INDEX);
  CHECK(strcmp(forerun_error_op(), "take") == 0);
  CHECK(strcmp(forerun_error_message(), "index 9 is out of bounds for axis 0 with size 2") == 0);
  CHECK(strcmp(forerun_error_submitted_file(), __FILE__) == 0 && strcmp(forerun_error_read_file(), __FILE__) == 0);
  CHECK(forerun_error_submitted_line() == submitted && forerun_error_read_line() == read);
  /* wait_all has what nobody read. */
  forerun_array *second;
  OK(forerun_take(x, at, 0, NULL, &second));
  CHECK(FORERUN_AT(forerun_wait_all()) == FORERUN_ERROR_INDEX);
  OK(forerun_wait_all());
  forerun_error_clear();
  CHECK(forerun_error_status() == FORERUN_OK && forerun_error_text()[0] == '\0' && forerun_error_read_line() == 0);
  /* Lines by number, for programs without literal names of files. */
  char name[] = "script.r";
  const uint32_t number = forerun_line_number(name, 3, "main");
  name[0] = 'X';
  forerun_set_line_number(number);
  CHECK(forerun_wait(NULL) == FORERUN_ERROR_HANDLE);
  CHECK(strcmp(forerun_error_submitted_file(), "script.r") == 0 && forerun_error_submitted_line() == 3);
  forerun_array *all[] = {x, at, taken, after, second};
  for (size_t k = 0; k < 5; ++k) OK(forerun_free(all[k]));
}

static void gradients_and_steps(void) {
  forerun_array *w = vector((float[]){1, 2}, 2), *squares, *loss, *gradient;
  OK(forerun_attach_grad(w, FORERUN_GRAD_WRITE));
  CHECK(!forerun_set_recording(true) && forerun_is_recording());
  OK(forerun_square(w, &squares));
  OK(forerun_sum(squares, NULL, 0, false, &loss));
  CHECK(forerun_set_recording(false));
  const forerun_array *heads[] = {loss}, *variables[] = {w};
  OK(forerun_gradients(heads, 1, NULL, variables, 1, true, false, &gradient));
  CHECK(has(gradient, (float[]){2, 4}, 2));
  OK(forerun_free(gradient));
  OK(forerun_backward(heads, 1, NULL, false));
  OK(forerun_grad(w, &gradient));
  CHECK(has(gradient, (float[]){2, 4}, 2));
  FAILS(forerun_backward(heads, 1, NULL, false), FORERUN_ERROR_VALUE, "retain_graph");

  forerun_optimiser *sgd;
  const forerun_attribute rate = {.name = "learning_rate", .kind = FORERUN_ATTRIBUTE_FLOAT, .real = 0.5};
  OK(forerun_optimiser_create("sgd", variables, 1, &rate, 1, &sgd));
  OK(forerun_optimiser_step(sgd, 2));
  CHECK(has(w, (float[]){0.5f, 1}, 2));
  FAILS(forerun_optimiser_step(sgd, 0), FORERUN_ERROR_VALUE, "sgd: the batch size");
  OK(forerun_optimiser_set_learning_rate(sgd, 0));
  OK(forerun_optimiser_step(sgd, 1));
  CHECK(has(w, (float[]){0.5f, 1}, 2));
  forerun_optimiser *none;
  FAILS(forerun_optimiser_create("sdg", variables, 1, NULL, 0, &none), FORERUN_ERROR_VALUE, "no optimiser sdg");
  forerun_attribute option = {.name = "beta1", .kind = FORERUN_ATTRIBUTE_FLOAT, .real = 0.5};
  FAILS(forerun_optimiser_create("sgd", variables, 1, &option, 1, &none), FORERUN_ERROR_TYPE, "unexpected option beta1");
  OK(forerun_optimiser_free(sgd));
  FAILS(forerun_grad(squares, &gradient), FORERUN_ERROR_VALUE, "forerun_attach_grad");
  forerun_array *all[] = {w, squares, loss, gradient};
  for (size_t k = 0; k < 4; ++k) OK(forerun_free(all[k]));
}

static void files(void) {
  const char *path = "test-c.safetensors";
  forerun_array *a = vector((float[]){1, 2, 3}, 3), *b = vector((float[]){4}, 1), *found;
  const char *names[] = {"a", "b"};
  const forerun_array *arrays[] = {a, b};
  OK(forerun_save(path, names, arrays, 2));
  forerun_archive *archive;
  OK(forerun_load(path, &archive));
  size_t count;
  const char *name;
  OK(forerun_archive_count(archive, &count));
  OK(forerun_archive_name(archive, 0, &name));
  CHECK(count == 2 && strcmp(name, "a") == 0);
  OK(forerun_archive_find(archive, "b", &found));
  CHECK(has(found, (float[]){4}, 1));
  OK(forerun_free(found));
  FAILS(forerun_archive_find(archive, "c", &found), FORERUN_ERROR_VALUE, "no array `c`");
  FAILS(forerun_archive_array(archive, 2, &found), FORERUN_ERROR_INDEX, "no array 2");
  OK(forerun_archive_free(archive));
  remove(path);
  FAILS(forerun_load(path, &archive), FORERUN_ERROR_RUNTIME, "test-c.safetensors");
  forerun_network *network;
  FAILS(forerun_network_load("none.json", "none.params", &network), FORERUN_ERROR_RUNTIME, "none.json");
  CHECK(strcmp(forerun_error_read_file(), __FILE__) == 0);
  OK(forerun_free(a));
  OK(forerun_free(b));
}

/* What dlpack.h declares, as far as it is used here. */
typedef struct {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} tensor;
typedef struct {
  uint32_t major, minor;
  void *context;
  void (*deleter)(void *self);
  uint64_t flags;
  tensor described;
} versioned;

static void exchange(void) {
  forerun_array *x = vector((float[]){1, 2, 3}, 3), *back, *none;
  struct DLManagedTensorVersioned *out;
  OK(forerun_to_dlpack(x, false, &out));
  versioned *seen = (versioned *)(void *)out;
  CHECK(seen->major == 1 && seen->flags == 1 && seen->described.bits == 32 && seen->described.shape[0] == 3);
  CHECK(((float *)seen->described.data)[2] == 3);
  OK(forerun_from_dlpack(out, &back));
  /* A write to the array does not reach the exported elements. */
  OK(forerun_assign(x, forerun_int(0)));
  OK(forerun_wait(x));
  CHECK(((float *)seen->described.data)[2] == 3);
  seen->described.ndim = -1;
  FAILS(forerun_from_dlpack(out, &none), FORERUN_ERROR_VALUE, "negative rank");
  seen->described.ndim = 1;
  seen->described.device_type = 77;
  FAILS(forerun_from_dlpack(out, &none), FORERUN_ERROR_VALUE, "cannot read from device");
  seen->described.device_type = 1;
  seen->major = 9;
  FAILS(forerun_from_dlpack(out, &none), FORERUN_ERROR_VALUE, "version 9.1 is not supported");
  seen->deleter(seen);
  CHECK(has(back, (float[]){1, 2, 3}, 3));
  struct DLManagedTensor *plain;
  OK(forerun_to_dlpack_unversioned(back, &plain));
  OK(forerun_free(back));
  OK(forerun_from_dlpack_unversioned(plain, &back));
  typedef struct {
    tensor described;
    void *context;
    void (*deleter)(void *self);
  } unversioned;
  ((unversioned *)(void *)plain)->deleter(plain);
  CHECK(has(back, (float[]){1, 2, 3}, 3));
  OK(forerun_free(back));
  OK(forerun_free(x));
}

/* The state of a callback. */
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t done;
  int calls;
  forerun_status status;
  char text[256];
  forerun_array *x, *y;
} notice;

static void note(notice *seen, forerun_status status) {
  pthread_mutex_lock(&seen->lock);
  seen->calls += 1;
  seen->status = status;
  snprintf(seen->text, sizeof seen->text, "%s", status == FORERUN_OK ? "" : forerun_error_text());
  pthread_cond_signal(&seen->done);
  pthread_mutex_unlock(&seen->lock);
}

static void when_ready(void *context, forerun_status status) { note(context, status); }

/* A callback that submits, waits and asks for another callback. */
static void calls_back(void *context, forerun_status status) {
  notice *seen = context;
  CHECK(status == FORERUN_OK);
  OK(forerun_add(forerun_of(seen->x), forerun_int(1), &seen->y));
  OK(forerun_wait(seen->y));
  OK(forerun_when_ready(seen->y, when_ready, seen));
}

static void await(notice *seen, int calls) {
  pthread_mutex_lock(&seen->lock);
  while (seen->calls < calls) pthread_cond_wait(&seen->done, &seen->lock);
  pthread_mutex_unlock(&seen->lock);
}

static void callbacks(void) {
  notice seen = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, -1, "", NULL, NULL};
  const int64_t shape[] = {300, 300};
  forerun_array *product;
  OK(forerun_normal(shape, 2, 0, 1, FORERUN_DEFAULT, &seen.x));
  OK(forerun_matmul(seen.x, seen.x, &product));
  OK(forerun_when_ready(product, when_ready, &seen));
  await(&seen, 1);
  CHECK(seen.status == FORERUN_OK);
  OK(forerun_when_ready(product, calls_back, &seen));
  await(&seen, 2);
  OK(forerun_free(seen.y));
  /* A failure reaches the callback. */
  const int64_t far = 999;
  forerun_array *at, *taken;
  OK(forerun_from_data(&far, FORERUN_INT64, NULL, 0, &at));
  OK(forerun_take(product, at, 0, "raise", &taken));
  OK(forerun_when_ready(taken, when_ready, &seen));
  await(&seen, 3);
  CHECK(seen.status == FORERUN_ERROR_INDEX && strstr(seen.text, "out of bounds") != NULL);
  FAILS(forerun_when_ready(taken, NULL, NULL), FORERUN_ERROR_VALUE, "the callback is null");
  forerun_array *all[] = {seen.x, product, at, taken};
  for (size_t k = 0; k < 4; ++k) OK(forerun_free(all[k]));
}

static void devices_and_settings(void) {
  forerun_array *x = vector((float[]){1, 2}, 2), *there;
  forerun_device device = {FORERUN_CPU, 1}, found;
  OK(forerun_to_device(x, device, &there));
  OK(forerun_device_of(there, &found));
  CHECK(found.kind == FORERUN_CPU && found.number == 1);
  OK(forerun_set_current_device(device));
  CHECK(forerun_current_device().number == 1);
  device.number = 0;
  OK(forerun_set_current_device(device));
  device.kind = FORERUN_GPU;
  device.number = 200;
  FAILS(forerun_to_device(x, device, &there), FORERUN_ERROR_RUNTIME, "gpu(200)");
  device.kind = 9;
  FAILS(forerun_set_current_device(device), FORERUN_ERROR_VALUE, "no device 200 of kind 9");
  forerun_counters counters;
  OK(forerun_stats(&counters));
  CHECK(counters.records > 0);
  const size_t threads = forerun_threads();
  CHECK(threads >= 1);
  OK(forerun_set_threads(threads));
  FAILS(forerun_set_threads(0), FORERUN_ERROR_VALUE, "threads must be at least 1");

  /* The same seed gives the same numbers. */
  const int64_t shape[] = {4};
  float one[4], two[4];
  for (int k = 0; k < 2; ++k) {
    forerun_array *drawn;
    forerun_seed(5);
    OK(forerun_normal(shape, 1, 0, 1, FORERUN_FLOAT32, &drawn));
    OK(forerun_read(drawn, k == 0 ? one : two, sizeof one));
    OK(forerun_free(drawn));
  }
  CHECK(memcmp(one, two, sizeof one) == 0 && isfinite(one[0]));
  OK(forerun_free(x));
  OK(forerun_free(there));
}

static void *another_thread(void *own) {
  forerun_array *x = own, *y;
  for (int k = 0; k < 200; ++k) {
    OK(forerun_add(forerun_of(x), forerun_int(k), &y));
    OK(forerun_free(y));
  }
  FAILS(forerun_reshape(x, (int64_t[]){7}, 1, &y), FORERUN_ERROR_VALUE, "reshape");
  OK(forerun_free(x));
  return NULL;
}

/* Each thread has a handle of its own to the same elements, and errors of its own. */
static void threads(void) {
  forerun_array *x = vector((float[]){1, 2}, 2), *own;
  pthread_t others[3];
  forerun_error_clear();
  for (size_t k = 0; k < 3; ++k) {
    OK(forerun_share(x, &own));
    CHECK(pthread_create(&others[k], NULL, another_thread, own) == 0);
  }
  for (size_t k = 0; k < 3; ++k) CHECK(pthread_join(others[k], NULL) == 0);
  CHECK(forerun_error_status() == FORERUN_OK);
  CHECK(has(x, (float[]){1, 2}, 2));
  OK(forerun_free(x));
}

static void bad_handles(void) {
  forerun_array *x = vector((float[]){1}, 1), *y;
  size_t size;
  FAILS(forerun_size(NULL, &size), FORERUN_ERROR_HANDLE, "the handle of the array is null");
  FAILS(forerun_size(x, NULL), FORERUN_ERROR_VALUE, "the place of the result is null");
  FAILS(forerun_add(forerun_of(NULL), forerun_int(1), &y), FORERUN_ERROR_HANDLE, "null");
  FAILS(forerun_add(forerun_int(1), forerun_int(1), &y), FORERUN_ERROR_TYPE, "add: needs at least one array");
  OK(forerun_free(NULL));
  OK(forerun_free(x));
  if (!detects_stale_handles()) return;
  FAILS(forerun_size(x, &size), FORERUN_ERROR_HANDLE, "not that of a live array");
  FAILS(forerun_free(x), FORERUN_ERROR_HANDLE, "not that of a live array");
  x = vector((float[]){1}, 1);
  FAILS(forerun_network_free((forerun_network *)(void *)x), FORERUN_ERROR_HANDLE, "not that of a live network");
  OK(forerun_free(x));
}

int main(void) {
  versions();
  the_first_lines();
  creation_and_views();
  ops_by_name();
  both_lines();
  gradients_and_steps();
  files();
  exchange();
  callbacks();
  devices_and_settings();
  threads();
  bad_handles();
  puts("ok");
  return 0;
}
