#include "harness/measure/text.h"

#include "harness/base/text_file.h"

#include <assert.h>
#include <string.h>

bool gnn_read_text(const char *path, char *text, size_t text_bytes)
{
    assert(path[0] != '\0');
    assert(text_bytes > 0);
    return gnn_text_file_read(path, text, text_bytes) == 0;
}

void gnn_trim(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        text[--length] = '\0';
}

const char *gnn_next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end == NULL ? line + strlen(line) : end + 1;
}
