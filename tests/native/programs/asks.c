/* Uses no GPU itself; a library it is linked with asks for one. */
void ask(void);

int main(void)
{
    ask();
    return 3;
}
