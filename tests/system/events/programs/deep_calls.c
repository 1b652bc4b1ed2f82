/* Blocks inside of each other, up to kDepth. Markers at the beginning and end of each have its
 * number as their volume. Prints the largest depth and their number. */
#include <dwell.h>
#include <stdio.h>
#include <stdlib.h>

enum { kDepth = 43, kBlocks = 400000 };

static const char* names[] = {"a", "b", "c"};
static unsigned long begun;
static int deepest;

static void block(int depth) {
    const char* name = names[rand() % 3];
    const unsigned long number = begun++;
    if (depth > deepest) deepest = depth;
    dwell_block_begin(name);
    dwell_mark("number", number);
    if (begun < kBlocks && depth < kDepth) {
        for (int inner = rand() % 3; inner > 0; --inner) block(depth + 1);
    }
    dwell_mark("number", number);
    dwell_block_end(name);
}

int main(void) {
    srand(3);
    while (begun < kBlocks) block(1);
    printf("%d %lu\n", deepest, begun);
    return 0;
}
