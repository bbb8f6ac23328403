/* "index": one of a table's indices comes from elsewhere, and leads far out of it; "replay": a graph is launched after memory of its
 * kernel was freed; "good": neither. Ends with the error of the wait. */
#include <hip/hip_runtime.h>

#include <cstring>

void launch_gather(int *out, const int *table, const int *index, int count, hipStream_t stream);
enum { TABLE = 2000, COUNT = 500, ELSEWHERE = 128004 };

int main(int, char **words)
{
    const bool wrong = !strcmp(words[1], "index"), freed = !strcmp(words[1], "replay");
    int *table, *index, *out, host[COUNT];
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t executable;
    hipMalloc((void **)&table, TABLE * sizeof *table);
    hipMalloc((void **)&index, sizeof host);
    hipMalloc((void **)&out, sizeof host);
    for (int i = 0; i < COUNT; i++)
        host[i] = i * 3;
    if (wrong)
        host[321] = ELSEWHERE;
    hipMemset(table, 0, TABLE * sizeof *table);
    hipMemcpy(index, host, sizeof host, hipMemcpyHostToDevice);
    hipStreamCreate(&stream);
    if (wrong) {
        launch_gather(out, table, index, COUNT, stream);
        return hipStreamSynchronize(stream) != hipSuccess;
    }
    hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
    launch_gather(out, table, index, COUNT, stream);
    hipStreamEndCapture(stream, &graph);
    hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
    if (freed)
        hipFree(table);
    hipGraphLaunch(executable, stream);
    return hipStreamSynchronize(stream) != hipSuccess;
}
