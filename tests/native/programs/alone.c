/* Uses no GPU and is linked statically: the recorder is never in it. */
#include <stdio.h>

int main(void)
{
    puts("alone");
    return 6;
}
