/* Models by callback, well-behaved and not; and calls that make no sense. */
#undef NDEBUG
#include "seriatim.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Tickets: operation n takes the ticket n; the state is the next ticket. */
static int64_t take(void *context, uint32_t state, uint32_t operation, uint32_t *next, size_t capacity) {
  (void)context, (void)capacity;
  if (state != operation) return 0;
  next[0] = state + 1;
  return 1;
}
static size_t describe(void *context, uint32_t operation, char *text, size_t capacity) {
  (void)context;
  return (size_t)snprintf(text, capacity, "take() -> %u", operation);
}
static size_t show(void *context, uint32_t state, char *text, size_t capacity) {
  (void)context;
  return (size_t)snprintf(text, capacity, "next %u", state);
}
/* Nondeterministic: any ticket up to nine may come next, whatever the operation. */
static int64_t any(void *context, uint32_t state, uint32_t operation, uint32_t *next, size_t capacity) {
  (void)context, (void)state, (void)operation;
  if (capacity >= 10)
    for (uint32_t i = 0; i < 10; i++) next[i] = i;
  return 10;
}
static int64_t fail(void *context, uint32_t state, uint32_t operation, uint32_t *next, size_t capacity) {
  (void)next, (void)capacity, (void)state, (void)operation;
  ++*(int *)context;
  return SERIATIM_MODEL_FAILED;
}
/* No function: each answer is another. */
static int64_t lie(void *context, uint32_t state, uint32_t operation, uint32_t *next, size_t capacity) {
  (void)capacity, (void)state, (void)operation;
  next[0] = (uint32_t)++*(int *)context;
  return 1;
}
/* Says no first and yes later. */
static int64_t waver(void *context, uint32_t state, uint32_t operation, uint32_t *next, size_t capacity) {
  if (++*(int *)context <= 2) return 0;
  return take(context, state, operation, next, capacity);
}
static int64_t nonsense(void *context, uint32_t state, uint32_t operation, uint32_t *next, size_t capacity) {
  (void)context, (void)state, (void)operation, (void)next, (void)capacity;
  return INT64_MIN;
}
static int64_t boundless(void *context, uint32_t state, uint32_t operation, uint32_t *next, size_t capacity) {
  (void)context, (void)state, (void)operation, (void)next, (void)capacity;
  return INT64_MAX;
}

static struct SeriatimModel tickets(int64_t (*step)(void *, uint32_t, uint32_t, uint32_t *, size_t), int *count) {
  struct SeriatimModel model = {0};
  model.context = count, model.name = "tickets", model.operations = 3;
  model.step = step, model.describe = describe, model.show = show;
  return model;
}

/* Two operations that follow each other. */
static const struct SeriatimOperation in_order[] = {{0, 0, 1, 0}, {1, 2, 3, 1}};
static const struct SeriatimOperation reversed[] = {{0, 0, 1, 1}, {1, 2, 3, 0}};

static enum SeriatimVerdict ask(const struct SeriatimModel *model, const struct SeriatimOperation *operations,
                                const char *expected, int32_t form) {
  struct SeriatimReport *report = seriatim_check_model(model, operations, 2, NULL);
  enum SeriatimVerdict verdict = seriatim_verdict(report);
  size_t length = 0;
  const char *text = seriatim_render(report, form, &length);
  assert(length == strlen(text));
  if (!strstr(text, expected)) { printf("no %s in\n%s\n", expected, text); assert(0); }
  seriatim_free(report);
  return verdict;
}

static enum SeriatimVerdict refused(const char *history, const struct SeriatimOptions *options, const char *expected) {
  struct SeriatimReport *report = seriatim_check((const uint8_t *)history, strlen(history), options);
  enum SeriatimVerdict verdict = seriatim_verdict(report);
  const char *text = seriatim_render(report, SERIATIM_FORM_JSON, NULL);
  if (!strstr(text, expected)) { printf("no %s in\n%s\n", expected, text); assert(0); }
  seriatim_free(report);
  return verdict;
}

int main(void) {
  int count = 0;
  struct SeriatimModel good = tickets(take, &count);
  assert(ask(&good, in_order, "\"verdict\":\"linearizable\"", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_LINEARIZABLE);
  assert(ask(&good, reversed, "take() -> 1 is impossible in next 0", SERIATIM_FORM_TEXT) == SERIATIM_VERDICT_VIOLATION);
  assert(ask(&good, reversed, "</html>", SERIATIM_FORM_HTML) == SERIATIM_VERDICT_VIOLATION);
  assert(ask(&good, in_order, "7 is no form", 7) == SERIATIM_VERDICT_LINEARIZABLE);
  struct SeriatimModel nameless = {0};
  nameless.step = take, nameless.operations = 2;
  assert(ask(&nameless, reversed, "operation 1 is impossible in state 0", SERIATIM_FORM_TEXT) == SERIATIM_VERDICT_VIOLATION);

  /* A name does not write lines of the report. */
  struct SeriatimModel two_lines = good;
  two_lines.name = "tick\nets";
  assert(ask(&two_lines, reversed, "as a tick\\nets\n", SERIATIM_FORM_TEXT) == SERIATIM_VERDICT_VIOLATION);

  /* Without processes, and one that never returned. */
  struct SeriatimOperation pending[] = {{SERIATIM_NO_PROCESS, 0, SERIATIM_PENDING, 0}, {SERIATIM_NO_PROCESS, 2, 3, 1}};
  assert(ask(&good, pending, "\"pending\":1", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_LINEARIZABLE);
  /* Parts: each operation acts on an object of its own, and ticket 1 is not the first of its. */
  const uint64_t parts[] = {7, 8, 9};
  struct SeriatimModel parted = good;
  parted.parts = parts;
  assert(ask(&parted, in_order, "VIOLATION", SERIATIM_FORM_TEXT) == SERIATIM_VERDICT_VIOLATION);
  struct SeriatimModel free_choice = tickets(any, &count);
  assert(ask(&free_choice, reversed, "\"verdict\":\"linearizable\"", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_LINEARIZABLE);

  /* Models that misbehave have no verdict. */
  struct SeriatimModel failing = tickets(fail, &count);
  assert(ask(&failing, in_order, "the model tickets failed", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);
  assert(count == 1); /* it is not asked again */
  count = 0;
  struct SeriatimModel lying = tickets(lie, &count);
  assert(ask(&lying, in_order, "tickets is no function", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);
  count = 0;
  struct SeriatimModel wavering = tickets(waver, &count);
  assert(ask(&wavering, in_order, "tickets is no function", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);
  struct SeriatimModel senseless = tickets(nonsense, &count);
  assert(ask(&senseless, in_order, "expected a number of states", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);
  struct SeriatimModel endless = tickets(boundless, &count);
  assert(ask(&endless, in_order, "expected a number of states", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);
  struct SeriatimModel stepless = tickets(NULL, &count);
  assert(ask(&stepless, in_order, "step: expected one", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);
  struct SeriatimModel small = good;
  small.operations = 1;
  assert(ask(&small, in_order, "operation 1: expected a number below 1, found 1", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);
  assert(ask(NULL, in_order, "model: expected one", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);
  assert(ask(&good, NULL, "operations: expected 2 items", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);
  struct SeriatimOperation backwards[] = {{0, 5, 1, 0}, {1, 2, 3, 1}};
  assert(ask(&good, backwards, "tickets:1:", SERIATIM_FORM_JSON) == SERIATIM_VERDICT_ERROR);

  /* Input that makes no sense. */
  const char *queue = "{\"process\":0,\"op\":\"dequeue\",\"result\":1,\"call\":1,\"return\":2}\n";
  struct SeriatimOptions options = {0};
  options.source = "q.jsonl";
  assert(refused("nonsense\n", &options, "q.jsonl:1: ") == SERIATIM_VERDICT_ERROR);
  options.spec = "quue";
  assert(refused(queue, &options, "quue") == SERIATIM_VERDICT_ERROR);
  options.spec = "\xff";
  assert(refused(queue, &options, "spec: expected UTF-8") == SERIATIM_VERDICT_ERROR);
  options.spec = "no/such/file.seri";
  assert(refused(queue, &options, "no/such/file.seri: ") == SERIATIM_VERDICT_ERROR);
  options.spec = "queue";
  assert(refused(queue, &options, "\"verdict\":\"violation\"") == SERIATIM_VERDICT_VIOLATION);
  options.seri = "spec one { method dequeue() -> int { return 1 } }";
  assert(refused(queue, &options, "\"spec\":\"one\"") == SERIATIM_VERDICT_LINEARIZABLE);
  options.seri = "spec one {";
  assert(refused(queue, &options, "expected `var`") == SERIATIM_VERDICT_ERROR);
  options.flags = 64;
  assert(refused(queue, &options, "flags: 64") == SERIATIM_VERDICT_ERROR);
  struct SeriatimReport *lost = seriatim_check_file("no/such/file", NULL);
  assert(seriatim_verdict(lost) == SERIATIM_VERDICT_ERROR);
  assert(strstr(seriatim_render(lost, SERIATIM_FORM_TEXT, NULL), "no/such/file"));
  seriatim_free(lost);
  struct SeriatimReport *dash = seriatim_check_file("-", NULL);
  assert(strstr(seriatim_render(dash, SERIATIM_FORM_TEXT, NULL), "./-: cannot read"));
  seriatim_free(dash);
  struct SeriatimReport *nothing = seriatim_check(NULL, 7, NULL);
  assert(seriatim_verdict(nothing) == SERIATIM_VERDICT_ERROR);
  seriatim_free(nothing);
  /* A length that a call which failed left, for items of one byte and of many; and a pointer into the middle of one. */
  struct SeriatimReport *endless_log = seriatim_check((const uint8_t *)queue, (size_t)-1, NULL);
  assert(strstr(seriatim_render(endless_log, SERIATIM_FORM_TEXT, NULL), "history: expected as many items as fit in memory"));
  seriatim_free(endless_log);
  struct SeriatimReport *endless_run = seriatim_check_model(&good, in_order, (size_t)-1 / 32, NULL);
  assert(strstr(seriatim_render(endless_run, SERIATIM_FORM_TEXT, NULL), "operations: expected as many items as fit in memory"));
  seriatim_free(endless_run);
  const struct SeriatimOperation *odd = (const void *)((const char *)in_order + 1);
  assert(ask(&good, odd, "operations: expected a pointer that is aligned", SERIATIM_FORM_TEXT) == SERIATIM_VERDICT_ERROR);
  assert(seriatim_verdict(NULL) == SERIATIM_VERDICT_ERROR);
  size_t length = 7;
  assert(!*seriatim_render(NULL, SERIATIM_FORM_TEXT, &length) && length == 0);
  seriatim_free(NULL);
  assert(strchr(seriatim_version(), '.'));
  puts("all is well");
  return 0;
}
