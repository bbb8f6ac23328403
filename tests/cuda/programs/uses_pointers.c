#include <stdio.h>

extern int start_with_pointers(void);

int main(void)
{
    printf("version: %d\n", start_with_pointers());
    return 0;
}
