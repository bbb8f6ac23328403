/* A job of several ranks, linked with NCCL: job RANKS [WHAT [RANK [FROM TO]]]. Each rank is a process (those from FROM to TO on this host), and issues three all-reduces, a broadcast and
 * sends that differ from rank to rank. WHAT: "count", "kind" (RANK's second collective differs), "missing" (RANK stops before it and the
 * others wait), "fails" (RANK exits with 3 there). Prints what NCCL returned. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct { char bytes[128]; } unique_id;
int ncclCommInitRank(void **comm, int ranks, unique_id id, int rank);
int ncclCommSplit(void *comm, int colour, int key, void **made, void *config);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *comm, void *queue);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, void *comm, void *queue);
int ncclSend(const void *data, size_t count, int type, int peer, void *comm, void *queue);
int ncclCommDestroy(void *comm);

enum { FLOAT = 7, INT64 = 4, SUM = 0 };

static int rank_of_job(int rank, int ranks, const char *what, int odd)
{
    unique_id id = { "the same in all ranks" };
    void *comm, *half;
    char name[16];
    snprintf(name, sizeof name, "%d", rank);
    setenv("RANK", name, 1);
    int bad = ncclCommInitRank(&comm, ranks, id, rank);
    bad |= ncclCommSplit(comm, rank % 2, rank, &half, NULL);
    bad |= ncclAllReduce(NULL, NULL, 1024, FLOAT, SUM, comm, NULL);
    bad |= ncclSend(NULL, 10 + (size_t)rank, FLOAT, 0, comm, NULL);
    if (rank == odd && !strcmp(what, "fails"))
        return 3;
    if (rank == odd && !strcmp(what, "missing"))
        pause();
    if (rank == odd && !strcmp(what, "kind"))
        bad |= ncclBroadcast(NULL, NULL, 1024, FLOAT, 0, comm, NULL);
    else
        bad |= ncclAllReduce(NULL, NULL, rank == odd && !strcmp(what, "count") ? 1000 : 1024, FLOAT, SUM, comm, NULL);
    bad |= ncclAllReduce(NULL, NULL, 5 + (size_t)(rank % 2), INT64, SUM, half, NULL);
    bad |= ncclBroadcast(NULL, NULL, 12, INT64, 0, comm, NULL);
    if (!strcmp(what, "missing"))
        pause();
    return bad | ncclCommDestroy(half) | ncclCommDestroy(comm);
}

int main(int count, char **words)
{
    int ranks = atoi(words[1]), status, worst = 0, from = count > 4 ? atoi(words[4]) : 0, to = count > 5 ? atoi(words[5]) : ranks - 1;
    for (int rank = from; rank <= to; rank++)
        if (fork() == 0)
            exit(rank_of_job(rank, ranks, count > 2 ? words[2] : "", count > 3 ? atoi(words[3]) : -1));
    while (wait(&status) > 0)
        worst = WEXITSTATUS(status) > worst ? WEXITSTATUS(status) : worst;
    printf("worst %d\n", worst);
    return worst;
}
