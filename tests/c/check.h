/* Checks for the test programs: a failed one prints its line and ends the program. */
#ifndef CHECK_H
#define CHECK_H

#include <forerun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);             \
      fprintf(stderr, "last error: %s\n", forerun_error_text());                          \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

/* The call succeeds. */
#define OK(call) CHECK(FORERUN_AT(call) == FORERUN_OK)

/* The call fails with this status, and the text of the error contains this. */
#define FAILS(call, wanted, part)                         \
  do {                                                    \
    forerun_error_clear();                                \
    CHECK(FORERUN_AT(call) == (wanted));                  \
    CHECK(forerun_error_status() == (wanted));            \
    CHECK(strstr(forerun_error_text(), (part)) != NULL);  \
  } while (0)

/* Whether the library has debug assertions, and so detects handles that were freed. */
static inline bool detects_stale_handles(void) { return getenv("FORERUN_TEST_RELEASE") == NULL; }

#endif /* CHECK_H */
