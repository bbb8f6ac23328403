// ViennaCL: dense and sparse products, solvers and transforms on fixed numbers, printed as they come out of the device.
//   g++ -O1 -DVIENNACL_WITH_OPENCL viennacl_solve.cpp -o viennacl_solve -lOpenCL
#include <cstdio>
#include <map>
#include <vector>

#include <viennacl/compressed_matrix.hpp>
#include <viennacl/linalg/bicgstab.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/direct_solve.hpp>
#include <viennacl/linalg/gmres.hpp>
#include <viennacl/linalg/ilu.hpp>
#include <viennacl/linalg/inner_prod.hpp>
#include <viennacl/linalg/jacobi_precond.hpp>
#include <viennacl/linalg/lu.hpp>
#include <viennacl/linalg/norm_1.hpp>
#include <viennacl/linalg/norm_2.hpp>
#include <viennacl/linalg/norm_inf.hpp>
#include <viennacl/linalg/prod.hpp>
#include <viennacl/matrix.hpp>
#include <viennacl/vector.hpp>

static void line(const char *name, const viennacl::vector<float> &v)
{
    std::vector<float> host(v.size());
    viennacl::copy(v.begin(), v.end(), host.begin());
    double sum = 0;
    for (size_t i = 0; i < host.size(); i++)
        sum += host[i] * (double)(i % 7 + 1);
    std::printf("%s %a\n", name, sum);
    std::fflush(stdout);
}

int main()
{
    const size_t n = 120;
    std::vector<std::vector<float>> dense(n, std::vector<float>(n));
    std::vector<std::map<unsigned, float>> sparse(n);
    std::vector<float> numbers(n);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = (float)(i % 13) - 5;
        for (size_t j = 0; j < n; j++)
            dense[i][j] = i == j ? 50.0f : (float)((i * 7 + j * 3) % 11) / 11;
        sparse[i][i] = 4;
        if (i)
            sparse[i][i - 1] = -1;
        if (i + 1 < n)
            sparse[i][i + 1] = -1;
    }
    viennacl::matrix<float> a(n, n), b(n, n), c(n, n);
    viennacl::compressed_matrix<float> s(n, n);
    viennacl::vector<float> x(n), y(n);
    viennacl::copy(dense, a);
    viennacl::copy(dense, b);
    viennacl::copy(sparse, s);
    viennacl::copy(numbers, x);
    y = viennacl::linalg::prod(a, x);
    line("gemv", y);
    c = viennacl::linalg::prod(a, b);
    y = viennacl::linalg::prod(c, x);
    line("gemm", y);
    c = viennacl::linalg::prod(viennacl::trans(a), b);
    y = viennacl::linalg::prod(c, x);
    line("gemm, transposed", y);
    y = viennacl::linalg::prod(s, x);
    line("sparse product", y);
    y = x * 2.5f + y;
    line("saxpy", y);
    float dot = viennacl::linalg::inner_prod(x, y), one = viennacl::linalg::norm_1(x), two = viennacl::linalg::norm_2(x),
          most = viennacl::linalg::norm_inf(y);
    std::printf("inner product %a, norms %a %a %a\n", dot, one, two, most);
    viennacl::copy(dense, a);
    y = viennacl::linalg::solve(a, x, viennacl::linalg::upper_tag());
    line("triangular solve", y);
    viennacl::copy(dense, a);
    viennacl::linalg::lu_factorize(a);
    y = x;
    viennacl::linalg::lu_substitute(a, y);
    line("LU", y);
    y = viennacl::linalg::solve(s, x, viennacl::linalg::cg_tag(1e-5, 60));
    line("CG", y);
    y = viennacl::linalg::solve(s, x, viennacl::linalg::bicgstab_tag(1e-5, 60));
    line("BiCGStab", y);
    y = viennacl::linalg::solve(s, x, viennacl::linalg::gmres_tag(1e-5, 60, 20));
    line("GMRES", y);
    viennacl::linalg::jacobi_precond<viennacl::compressed_matrix<float>> jacobi(s, viennacl::linalg::jacobi_tag());
    y = viennacl::linalg::solve(s, x, viennacl::linalg::cg_tag(1e-5, 60), jacobi);
    line("CG with Jacobi", y);
    return 0;
}
