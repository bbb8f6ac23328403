// Boost.Compute's algorithms on fixed numbers; each line is a checksum that does not depend on the order of floating-point sums.
//   g++ -O1 -DCL_TARGET_OPENCL_VERSION=120 boost_compute.cpp -o boost_compute -lOpenCL
#include <boost/compute.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace compute = boost::compute;

static uint32_t state = 12345;
static uint32_t next() { return state = state * 1664525u + 1013904223u; }

static void line(const char *name, const compute::vector<int> &device, compute::command_queue &queue)
{
    std::vector<int> host(device.size());
    compute::copy(device.begin(), device.end(), host.begin(), queue);
    uint64_t sum = 1469598103934665603u;
    for (int value : host)
        sum = (sum ^ (uint32_t)value) * 1099511628211u;
    std::printf("%s %016llx\n", name, (unsigned long long)sum);
    std::fflush(stdout);
}

int main()
{
    compute::device device = compute::system::default_device();
    compute::context context(device);
    compute::command_queue queue(context, device);
    std::vector<int> numbers(5000);
    for (int &value : numbers)
        value = (int)(next() >> 12);
    compute::vector<int> a(numbers.begin(), numbers.end(), queue), out(a.size(), context);

    compute::sort(a.begin(), a.end(), queue);
    line("sort", a, queue);
    compute::copy(numbers.begin(), numbers.end(), a.begin(), queue);
    compute::stable_sort(a.begin(), a.end(), compute::greater<int>(), queue);
    line("stable_sort", a, queue);
    compute::copy(numbers.begin(), numbers.end(), a.begin(), queue);
    compute::inclusive_scan(a.begin(), a.end(), out.begin(), queue);
    line("inclusive_scan", out, queue);
    compute::exclusive_scan(a.begin(), a.end(), out.begin(), queue);
    line("exclusive_scan", out, queue);
    compute::reverse_copy(a.begin(), a.end(), out.begin(), queue);
    line("reverse_copy", out, queue);
    compute::transform(a.begin(), a.end(), out.begin(), compute::_1 % 17 + 3, queue);
    line("transform", out, queue);
    compute::partition(out.begin(), out.end(), compute::_1 < 10, queue);
    line("partition", out, queue);
    compute::adjacent_difference(a.begin(), a.end(), out.begin(), queue);
    line("adjacent_difference", out, queue);
    int total = 0;
    compute::reduce(a.begin(), a.end(), &total, compute::plus<int>(), queue);
    std::printf("reduce %d\n", total);
    std::printf("accumulate %d\n", compute::accumulate(a.begin(), a.end(), 7, queue));
    std::printf("count_if %zu\n", compute::count_if(a.begin(), a.end(), compute::_1 % 3 == 0, queue));
    std::printf("max_element %d\n", (int)*compute::max_element(a.begin(), a.end(), queue));
    auto end = compute::copy_if(a.begin(), a.end(), out.begin(), compute::_1 % 2 == 1, queue);
    std::printf("copy_if %td\n", end - out.begin());
    compute::vector<int> keys(a.size(), context), values(a.size(), context);
    compute::iota(values.begin(), values.end(), 0, queue);
    compute::copy(a.begin(), a.end(), keys.begin(), queue);
    compute::sort_by_key(keys.begin(), keys.end(), values.begin(), queue);
    line("sort_by_key", values, queue);
    compute::gather(values.begin(), values.end(), a.begin(), out.begin(), queue);
    line("gather", out, queue);
    compute::scatter(a.begin(), a.end(), values.begin(), out.begin(), queue);
    line("scatter", out, queue);
    compute::random_shuffle(values.begin(), values.end(), queue);
    compute::sort(values.begin(), values.end(), queue);
    line("random_shuffle and sort", values, queue);
    return 0;
}
