/* Checks histories: histories SPEC FILE [SPEC FILE …], where SPEC may be "-". For each file a line with its verdict and
 * its JSON report; and the same report must come from the bytes of the file. */
#include "seriatim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *contents(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) { perror(path); exit(2); }
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*length + 1);
  if (fread(bytes, 1, *length, file) != *length) { perror(path); exit(2); }
  fclose(file);
  return bytes;
}

int main(int count, char **arguments) {
  for (int i = 1; i + 1 < count; i += 2) {
    const char *path = arguments[i + 1];
    struct SeriatimOptions options = {0};
    options.spec = strcmp(arguments[i], "-") ? arguments[i] : NULL;
    options.source = path;
    options.threads = 1;
    size_t length = 0;
    char *bytes = contents(path, &length);
    struct SeriatimReport *read = seriatim_check_file(path, &options);
    struct SeriatimReport *given = seriatim_check((const uint8_t *)bytes, length, &options);
    printf("%d %s\n", seriatim_verdict(read), seriatim_render(read, SERIATIM_FORM_JSON, NULL));
    printf("%d %s\n", seriatim_verdict(given), seriatim_render(given, SERIATIM_FORM_JSON, NULL));
    seriatim_free(read);
    seriatim_free(given);
    free(bytes);
  }
  return 0;
}
