#define API __attribute__((visibility("default")))

API int answer(void)
{
    return 3;
}
