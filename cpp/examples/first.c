/* The first lines in C: arithmetic that returns at once, a gradient, and an error that names its lines. */
#include <forerun.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program with the thread's error unless the call succeeded. */
#define DO(call)                                      \
  do {                                                \
    if (FORERUN_AT(call) != FORERUN_OK) {             \
      fprintf(stderr, "%s\n", forerun_error_text());  \
      exit(1);                                        \
    }                                                 \
  } while (0)

int main(void) {
  const int64_t shape[] = {1, 2};
  forerun_array *x, *y, *product, *z;
  DO(forerun_ones(shape, 2, FORERUN_DEFAULT, &x));
  DO(forerun_ones(shape, 2, FORERUN_DEFAULT, &y));
  DO(forerun_attach_grad(x, FORERUN_GRAD_WRITE));

  /* Returns at once; the library's threads compute. */
  forerun_set_recording(true);
  DO(forerun_multiply(forerun_of(x), forerun_of(y), &product));
  DO(forerun_add(forerun_of(product), forerun_int(2), &z));
  forerun_set_recording(false);

  /* Needs the value, so it waits for z. */
  char text[64];
  DO(forerun_format(z, text, sizeof text, NULL));
  printf("%s\n", text);

  /* An op by its name. */
  forerun_argument input = forerun_of(z);
  forerun_attribute axis = {.name = "axis", .kind = FORERUN_ATTRIBUTE_INT, .integer = 1};
  forerun_array *softmax;
  DO(forerun_call("softmax", &input, 1, &axis, 1, &softmax, 1, NULL));
  float elements[2];
  DO(forerun_read(softmax, elements, sizeof elements));
  printf("%g %g\n", elements[0], elements[1]);

  const forerun_array *head = z;
  forerun_array *gradient;
  DO(forerun_backward(&head, 1, NULL, false));
  DO(forerun_grad(x, &gradient));
  DO(forerun_read(gradient, elements, sizeof elements));
  printf("%g %g\n", elements[0], elements[1]);

  /* A mistake: an error code, and a text that names this line. */
  const int64_t three[] = {3};
  forerun_array *other, *sum;
  DO(forerun_ones(three, 1, FORERUN_DEFAULT, &other));
  if (FORERUN_AT(forerun_add(forerun_of(x), forerun_of(other), &sum)) == FORERUN_OK) return 1;
  printf("%s\n", forerun_error_text());

  forerun_array *all[] = {x, y, product, z, softmax, gradient, other};
  for (size_t k = 0; k < sizeof all / sizeof *all; ++k) forerun_free(all[k]);
  return 0;
}
