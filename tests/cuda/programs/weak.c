/* A program that uses the driver only if it is there, and finds out by a weak symbol. */
#include <stdio.h>

extern int cuInit(unsigned) __attribute__((weak));

int main(void)
{
    printf("driver: %d\n", cuInit ? cuInit(0) == 0 : 0);
    return 0;
}
