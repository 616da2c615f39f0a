#ifndef SERIATIM_H
#define SERIATIM_H

/* Made from crates/ffi/src by cbindgen; do not edit. */

#include <stddef.h>
#include <stdint.h>

// A failed operation saw that its condition did not hold. Otherwise it did not happen.
#define SERIATIM_OBSERVE_FAILURES 1

// Jepsen's independent keys: a value is `[key value]`, and each key is an object of its own.
#define SERIATIM_INDEPENDENT 2

// Only the verdict counts: a violation is not made small, and hardly explained.
#define SERIATIM_PLAIN 4

// An operation without process; either all operations of a history have one or none.
#define SERIATIM_NO_PROCESS INT64_MIN

// The return of an operation that never returned: nobody knows whether it happened.
#define SERIATIM_PENDING UINT64_MAX

// What a step returns if the model failed: the check stops, and there is no verdict.
#define SERIATIM_MODEL_FAILED -1

// What the verdict is, as the exit codes of the command.
enum SeriatimVerdict
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The history is linearizable: an order was found, and replayed.
  SERIATIM_VERDICT_LINEARIZABLE = 0,
  // It is not: there is no such order.
  SERIATIM_VERDICT_VIOLATION = 1,
  // There is no verdict: the input makes no sense. The error says why.
  SERIATIM_VERDICT_ERROR = 2,
  // A limit was reached.
  SERIATIM_VERDICT_UNKNOWN = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum SeriatimVerdict SeriatimVerdict;
#else
typedef int32_t SeriatimVerdict;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The forms of a report.
enum SeriatimForm
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The JSON report, one line.
  SERIATIM_FORM_JSON = 0,
  // For people: a violation is drawn. 100 columns, UTF-8, no colours.
  SERIATIM_FORM_TEXT = 1,
  // A page that any browser opens.
  SERIATIM_FORM_HTML = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum SeriatimForm SeriatimForm;
#else
typedef int32_t SeriatimForm;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A report on a history, or the reason why there is none.
typedef struct SeriatimReport SeriatimReport;

// How to check. All zero is the default.
typedef struct SeriatimOptions {
  // The specification, as `seriatim specs` lists them, or a file `FILE.seri` or
  // `FILE.seri#NAME`. Null: what the history names, or what all specifications that can read it
  // agree on.
  const char *spec;
  // A specification in the algorithm language, as text; null: none. Goes before `spec`.
  const char *seri;
  // What the history is called in messages and reports; null: `<memory>`.
  const char *source;
  // The time limit in milliseconds; 0: none.
  uint64_t milliseconds;
  // The memory limit of the searches in bytes; 0: 4 GiB.
  uint64_t memory;
  // The number of threads; 0: one for each core. Models are always asked by one thread.
  uint32_t threads;
  // `SERIATIM_OBSERVE_FAILURES`, `SERIATIM_INDEPENDENT`, `SERIATIM_PLAIN`, together with `|`.
  uint32_t flags;
} SeriatimOptions;

// A sequential object of the caller's: its states and operations are the caller's numbers.
// Different states must have different numbers; equal states with different numbers only cost
// time.
typedef struct SeriatimModel {
  // Given to every callback.
  void *context;
  // What the specification is called in reports; null: `model`.
  const char *name;
  // The state before the first operation.
  uint32_t initial;
  // How many numbers of operations there are.
  uint32_t operations;
  // Writes the states after an operation in a state to `next`, and returns how many there are: 0
  // if the operation is impossible there. If there are more than `capacity` it writes none and
  // is called again with room for them. `SERIATIM_MODEL_FAILED` stops the check. Must be a
  // function of `state` and `operation`.
  int64_t (*step)(void *context, uint32_t state, uint32_t operation, uint32_t *next, size_t capacity);
  // Writes an operation as a person reads it, `dequeue() -> 7`, in UTF-8, and returns its length
  // in bytes; if that is more than `capacity` it is called again. May be null.
  size_t (*describe)(void *context, uint32_t operation, char *text, size_t capacity);
  // Writes a state in the same way. May be null.
  size_t (*show)(void *context, uint32_t state, char *text, size_t capacity);
  // For each number of an operation the independent part of the object that it acts on; null: it
  // is one object.
  const uint64_t *parts;
} SeriatimModel;

// An operation of a model's history.
typedef struct SeriatimOperation {
  // Who called it, or `SERIATIM_NO_PROCESS`.
  int64_t process;
  // When it was called.
  uint64_t call;
  // When it returned, or `SERIATIM_PENDING`. Intervals are closed.
  uint64_t ret;
  // Its number, which stands for the operation, its arguments and its result; below `operations`
  // of the model.
  uint32_t operation;
} SeriatimOperation;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Checks a history, in any format that the command reads, also compressed. `history` points to
// `length` bytes; `options` may be null. Never null; to be freed with `seriatim_free`.
//
// # Safety
//
// The pointers are null or valid during the call, and the texts of the options end with a zero
// byte.
struct SeriatimReport *seriatim_check(const uint8_t *history,
                                      size_t length,
                                      const struct SeriatimOptions *options);

// Checks the history in a file; `.gz` and `.zst` are unpacked. `path` ends with a zero byte;
// `options` may be null. Never null; to be freed with `seriatim_free`.
//
// # Safety
//
// As for `seriatim_check`.
struct SeriatimReport *seriatim_check_file(const char *path, const struct SeriatimOptions *options);

// Checks operations under a model of the caller's. Of the options only the limits count. Never
// null; to be freed with `seriatim_free`.
//
// # Safety
//
// The pointers are null or valid during the call: `operations` to `count` operations, `parts` of
// the model to as many numbers as it says. The callbacks return to their caller, and write no more
// than they may.
struct SeriatimReport *seriatim_check_model(const struct SeriatimModel *model,
                                            const struct SeriatimOperation *operations,
                                            size_t count,
                                            const struct SeriatimOptions *options);

// The verdict of a report; `SERIATIM_VERDICT_ERROR` for null.
//
// # Safety
//
// The report is null or one of ours that was not freed.
SeriatimVerdict seriatim_verdict(const struct SeriatimReport *report);

// A form of a report (a `SeriatimForm`), or the error if there is no verdict, in UTF-8; `length`
// gets the number of bytes, and a zero byte stands behind them. They live until the report is
// rendered again or freed.
//
// # Safety
//
// The report is null or one of ours that was not freed, and nobody else uses it. `length` is null
// or valid.
const char *seriatim_render(struct SeriatimReport *report, int32_t form, size_t *length);

// Frees a report; null is nothing to free.
//
// # Safety
//
// The report is null or one of ours that was not freed. It is not used afterwards.
void seriatim_free(struct SeriatimReport *report);

// The version of the library, as text.
const char *seriatim_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SERIATIM_H */
