/* ==== averages of two smooth functions as series in the correlation ====
 * <f(z1) g(z2)> = sum_n a_n(K1) b_n(K2) rho^n with a_n(K) = <f(sqrt(K) x) h_n(x)>, h_n the normalised Hermite
 * polynomials. What N terms leave is at most |rho|^N sqrt((<f^2> - sum a_n^2) (<g^2> - sum b_n^2)). */
#define SYMRES_FEW 32         /* terms at first */
#define SYMRES_MOST 4096      /* terms at last */
#define SYMRES_LANES 16       /* kernels that are expanded together */
#define SYMRES_NODES 256      /* nodes at a time */
#define SYMRES_END 13.0       /* behind so many standard deviations h_n(x) exp(-x^2/2) is less than rounding */
#define SYMRES_FINEST 1e-3    /* the smallest distance of nodes */
#define SYMRES_REST 2e-14     /* of <f^2>: what coefficients may leave of it */
#define SYMRES_GOAL 2e-14     /* of sqrt(<f^2> <g^2>): the error at which a series ends */
#define SYMRES_ACCEPTED 1e-12 /* the same, beyond which there is no number */
#define SYMRES_CHUNK 64       /* entries that have the same number of terms */
#define SYMRES_COLUMNS 256    /* columns whose coefficients stay in the cache */
#define SYMRES_ENTRIES 2048   /* entries whose kernels are expanded together */

/* The values of a function at count places. */
typedef void (*symres_values)(size_t count, const double *z, const double *parameters, double *out);

/* The expansion of a function for several kernels. */
typedef struct {
    size_t terms, count;
    double *values; /* terms rows of count coefficients, then the following rows */
    double *root;   /* <f^2>^(1/2) of each kernel */
    double *rest;   /* the share of it that the coefficients leave; nan where the nodes do not serve */
    double *left;   /* for each number of terms, the largest share that is left */
    double *size;   /* for each order, the largest share of a coefficient */
} symres_expansion;

static void symres_release(symres_expansion *e)
{
    free(e->values);
    free(e->left);
    e->values = e->left = NULL;
}

/* A kernel, no number beyond the largest one. */
static inline double symres_inside(double K, double largest) { return K > largest ? NAN : K; }

static double symres_weight(double x, double step) { return step * 0.3989422804014327 * exp(-0.5 * x * x); }

/* Coefficients for one kernel; returns <f^2>. */
static double symres_expand_one(symres_values f, const double *parameters, double deviation, double step, size_t terms, double *out)
{
    const long half = (long)ceil(SYMRES_END / step);
    double total = 0.0, z[SYMRES_NODES], v[SYMRES_NODES], x[SYMRES_NODES], now[SYMRES_NODES], before[SYMRES_NODES];
    for (size_t n = 0; n < terms; ++n)
        out[n] = 0.0;
    for (long start = -half; start <= half; start += SYMRES_NODES) {
        const long width = half + 1 - start < SYMRES_NODES ? half + 1 - start : SYMRES_NODES;
        for (long q = 0; q < width; ++q) {
            x[q] = (double)(start + q) * step;
            z[q] = deviation * x[q];
            now[q] = symres_weight(x[q], step);
            before[q] = 0.0;
        }
        f((size_t)width, z, parameters, v);
        for (long q = 0; q < width; ++q)
            total += now[q] * v[q] * v[q];
        for (size_t n = 0; n < terms; ++n) {
            const double lower = sqrt((double)n), scale = 1.0 / sqrt((double)n + 1.0);
            double sum = 0.0;
            for (long q = 0; q < width; ++q) {
                const double next = (x[q] * now[q] - lower * before[q]) * scale;
                sum += now[q] * v[q];
                before[q] = now[q];
                now[q] = next;
            }
            out[n] += sum;
        }
    }
    return total;
}

/* The distance of nodes and the number of terms that the largest kernel needs; 0 terms if no nodes serve. */
static size_t symres_rule(symres_values f, const double *parameters, size_t count, const double *K, double *found)
{
    double largest = 0.0;
    for (size_t i = 0; i < count; ++i)
        largest = K[i] > largest && K[i] < INFINITY ? K[i] : largest;
    const double deviation = sqrt(largest);
    double *some = malloc(sizeof(double) * 2 * SYMRES_MOST), *finer = some + SYMRES_MOST;
    size_t terms = SYMRES_FEW;
    double step = 0.25, total;
    if (!some)
        return 0;
    for (;; terms *= 2) {
        symres_expand_one(f, parameters, deviation, step, terms, some);
        for (;;) {
            double apart = 0.0;
            total = symres_expand_one(f, parameters, deviation, 0.5 * step, terms, finer);
            for (size_t n = 0; n < terms; ++n)
                apart = fmax(apart, fabs(finer[n] - some[n]));
            if (!(total < INFINITY)) {
                free(some);
                return 0;
            }
            if (apart <= 1e-15 * sqrt(total))
                break;
            step *= 0.5;
            if (step < SYMRES_FINEST) {
                free(some);
                return 0;
            }
            memcpy(some, finer, sizeof(double) * terms);
        }
        double rest = total;
        for (size_t n = 0; n < terms; ++n) {
            rest -= finer[n] * finer[n];
            if (rest <= SYMRES_REST * total) {
                terms = n + 1;
                *found = step;
                free(some);
                return terms;
            }
        }
        /* Coefficients fall like exp(-c sqrt(n)): four times as many leave about the square, in shares. */
        if (terms == SYMRES_MOST || (4 * terms >= SYMRES_MOST && rest > 1e-5 * total))
            break;
    }
    *found = step;
    free(some);
    return terms;
}

/* The expansion for kernels; 1 if there is no memory. Kernels that are no numbers have no numbers; none has some where
 * fails is 1. */
static int symres_expand(symres_values f, const double *parameters, size_t count, const double *K, double step, size_t terms,
    int fails, symres_expansion *e)
{
    e->terms = terms;
    e->count = count;
    e->values = malloc(sizeof(double) * count * (terms + 2));
    e->left = malloc(sizeof(double) * (2 * terms + 1));
    double *table = malloc(sizeof(double) * (terms + 4) * SYMRES_NODES);
    if (!e->values || !e->left || !table) {
        symres_release(e);
        free(table);
        return 1;
    }
    e->root = e->values + terms * count;
    e->rest = e->root + count;
    e->size = e->left + terms + 1;
    for (size_t k = 0; k < count * (terms + 2); ++k)
        e->values[k] = 0.0;
    const long half = (long)ceil(SYMRES_END / step);
    for (long start = -half; start <= half && !fails; start += SYMRES_NODES) {
        const long width = half + 1 - start < SYMRES_NODES ? half + 1 - start : SYMRES_NODES;
        for (long q = 0; q < width; ++q) {
            const double x = (double)(start + q) * step;
            double before = 0.0, now = symres_weight(x, step);
            for (size_t n = 0; n < terms; ++n) {
                const double next = (x * now - sqrt((double)n) * before) / sqrt((double)n + 1.0);
                table[n * SYMRES_NODES + (size_t)q] = now;
                before = now;
                now = next;
            }
        }
        for (size_t n = terms; n < terms + 4; ++n)
            memset(table + n * SYMRES_NODES, 0, sizeof(double) * SYMRES_NODES);
#pragma omp parallel for schedule(static) if (count > 256)
        for (ptrdiff_t left = 0; left < (ptrdiff_t)count; left += SYMRES_LANES) {
            const size_t lanes = count - (size_t)left < SYMRES_LANES ? count - (size_t)left : SYMRES_LANES;
            double z[SYMRES_NODES * SYMRES_LANES], v[SYMRES_NODES * SYMRES_LANES], deviation[SYMRES_LANES];
            for (size_t l = 0; l < SYMRES_LANES; ++l)
                deviation[l] = l < lanes ? sqrt(K[(size_t)left + l]) : 0.0;
            for (long q = 0; q < width; ++q)
                for (size_t l = 0; l < SYMRES_LANES; ++l)
                    z[(size_t)q * SYMRES_LANES + l] = deviation[l] * ((double)(start + q) * step);
            f((size_t)width * SYMRES_LANES, z, parameters, v);
            for (long q = 0; q < width; ++q)
                for (size_t l = 0; l < lanes; ++l) {
                    const double value = v[(size_t)q * SYMRES_LANES + l], part = table[q] * value * value;
                    e->root[(size_t)left + l] += part;
                    if (labs(start + q) == half)
                        e->rest[(size_t)left + l] = fmax(e->rest[(size_t)left + l], part);
                }
            for (size_t n = 0; n < terms; n += 4) {
                const double *h = table + n * SYMRES_NODES;
                double sum0[SYMRES_LANES] = {0}, sum1[SYMRES_LANES] = {0}, sum2[SYMRES_LANES] = {0}, sum3[SYMRES_LANES] = {0};
                for (long q = 0; q < width; ++q) {
                    const double *restrict row = v + (size_t)q * SYMRES_LANES;
                    const double h0 = h[q], h1 = h[q + SYMRES_NODES], h2 = h[q + 2 * SYMRES_NODES], h3 = h[q + 3 * SYMRES_NODES];
                    for (size_t l = 0; l < SYMRES_LANES; ++l) {
                        sum0[l] = fma(h0, row[l], sum0[l]);
                        sum1[l] = fma(h1, row[l], sum1[l]);
                        sum2[l] = fma(h2, row[l], sum2[l]);
                        sum3[l] = fma(h3, row[l], sum3[l]);
                    }
                }
                const double *sums[] = {sum0, sum1, sum2, sum3};
                for (size_t m = n; m < n + 4 && m < terms; ++m)
                    for (size_t l = 0; l < lanes; ++l)
                        e->values[m * count + (size_t)left + l] += sums[m - n][l];
            }
        }
    }
    free(table);
    for (size_t n = 0; n <= terms; ++n)
        e->left[n] = 0.0;
    for (size_t n = 0; n < terms; ++n)
        e->size[n] = 0.0;
    for (size_t i = 0; i < count; ++i) {
        const double total = e->root[i], ends = e->rest[i];
        double part = total;
        for (size_t n = 0; n < terms; ++n)
            part -= e->values[n * count + i] * e->values[n * count + i];
        const int serves = !fails && K[i] >= 0.0 && K[i] < INFINITY && total < INFINITY && ends <= 1e-16 * total;
        double share = total > 0.0 ? fmax(part / total, 1e-15) : 0.0;
        e->root[i] = serves ? sqrt(total) : NAN;
        e->rest[i] = serves ? sqrt(share) : NAN;
        if (!serves)
            continue;
        e->left[terms] = fmax(e->left[terms], sqrt(share));
        for (size_t n = terms; n-- > 0;) {
            const double a = e->values[n * count + i], square = total > 0.0 ? a * a / total : 0.0;
            share += square;
            e->left[n] = fmax(e->left[n], sqrt(share));
            e->size[n] = fmax(e->size[n], sqrt(square));
        }
    }
    return 0;
}

/* How the product of two expansions is summed. */
typedef struct {
    symres_expansion one, two;
    size_t terms;
    int even, odd; /* whether there are coefficients of the orders 0, 2, 4, ..., and of 3, 5, 7, ... */
    int checked;   /* whether entries may lack terms */
    double *cut;   /* the largest correlation for which so many terms serve */
} symres_product;

static void symres_release_product(symres_product *p)
{
    if (p->two.values != p->one.values)
        symres_release(&p->two);
    symres_release(&p->one);
    free(p->cut);
    p->cut = NULL;
}

/* The expansions of two functions, each for its kernels; 1 if there is no memory. */
static int symres_prepare_product(symres_values f, symres_values g, const double *parameters, size_t rows, const double *K1,
    size_t columns, const double *K2, symres_product *p)
{
    const int same = f == g && rows == columns && memcmp(K1, K2, sizeof(double) * rows) == 0;
    double step = 0.25, other = 0.25, even = 0.0, odd = 0.0;
    const size_t one = symres_rule(f, parameters, rows, K1, &step);
    const size_t two = same ? one : symres_rule(g, parameters, columns, K2, &other);
    const int fails = one == 0 || two == 0;
    const size_t terms = fails ? 1 : one > two ? one : two;
    step = step < other ? step : other;
    if (symres_expand(f, parameters, rows, K1, step, terms, fails, &p->one))
        return 1;
    if (same)
        p->two = p->one;
    else if (symres_expand(g, parameters, columns, K2, step, terms, fails, &p->two))
        return 1;
    p->terms = terms;
    p->cut = malloc(sizeof(double) * (terms + 1));
    if (!p->cut)
        return 1;
    for (size_t n = 0; n < terms; ++n)
        *(n % 2 ? &odd : &even) += n == 1 ? 0.0 : p->one.size[n] * p->two.size[n];
    p->even = even > 1e-20;
    p->odd = odd > 1e-20;
    p->checked = !(p->one.left[terms] * p->two.left[terms] <= SYMRES_ACCEPTED);
    for (size_t n = 0; n <= terms; ++n) {
        const double left = p->one.left[n] * p->two.left[n];
        p->cut[n] = left <= SYMRES_GOAL ? 1.0 : n == 0 ? -1.0 : pow(SYMRES_GOAL / left, 1.0 / (double)n);
    }
    return 0;
}

/* The number of terms that correlations up to the largest need. */
static size_t symres_enough(const symres_product *p, double largest)
{
    size_t low = 0, high = p->terms;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (p->cut[middle] >= largest)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Adds the terms of the orders first, first + step, ... below terms, over x^k: rows of coefficients of both inputs. */
static inline void symres_horner(size_t width, size_t first, size_t step, size_t terms, const double *restrict x, const double *a,
    size_t rows, const double *b, size_t columns, double *restrict sum)
{
    size_t count = terms > first ? (terms - first + step - 1) / step : 0;
    for (size_t j = 0; j < width; ++j)
        sum[j] = 0.0;
    for (; count >= 4; count -= 4) {
        const size_t n = first + (count - 4) * step;
        const double a0 = a[n * rows], a1 = a[(n + step) * rows], a2 = a[(n + 2 * step) * rows], a3 = a[(n + 3 * step) * rows];
        const double *restrict b0 = b + n * columns, *restrict b1 = b0 + step * columns, *restrict b2 = b1 + step * columns;
        const double *restrict b3 = b2 + step * columns;
        for (size_t j = 0; j < width; ++j) {
            double v = fma(sum[j], x[j], a3 * b3[j]);
            v = fma(v, x[j], a2 * b2[j]);
            v = fma(v, x[j], a1 * b1[j]);
            sum[j] = fma(v, x[j], a0 * b0[j]);
        }
    }
    for (; count > 0; --count) {
        const size_t n = first + (count - 1) * step;
        for (size_t j = 0; j < width; ++j)
            sum[j] = fma(sum[j], x[j], a[n * rows] * b[n * columns + j]);
    }
}

/* The average for at most SYMRES_CHUNK entries: of the first input i, and the second ones from left on; no numbers where
 * there was no memory, and no product. */
static void symres_row_of_series(const symres_product *p, size_t width, const double *K1, size_t i, const double *K2, size_t left,
    const double *C, double *restrict out)
{
    if (!p) {
        for (size_t j = 0; j < width; ++j)
            out[j] = NAN;
        return;
    }
    const size_t rows = p->one.count, columns = p->two.count;
    const double *a = p->one.values + i, *b = p->two.values + left;
    const double root = sqrt(K1[i]);
    double rho[SYMRES_CHUNK], square[SYMRES_CHUNK], other[SYMRES_CHUNK], largest = 0.0;
    for (size_t j = 0; j < width; ++j) {
        const double size = root * sqrt(K2[left + j]);
        double r = C[j] / size;
        r = r > 1.0 ? 1.0 : r;
        r = r < -1.0 ? -1.0 : r;
        r = size == 0.0 ? 0.0 : r;
        rho[j] = r;
        square[j] = r * r;
        largest = fabs(r) > largest ? fabs(r) : largest;
    }
    const size_t enough = symres_enough(p, largest);
    if (p->even && p->odd) {
        symres_horner(width, 0, 1, enough, rho, a, rows, b, columns, out);
    } else {
        for (size_t j = 0; j < width; ++j)
            out[j] = 0.0;
        if (p->even)
            symres_horner(width, 0, 2, enough, square, a, rows, b, columns, out);
        if (p->terms > 1) {
            symres_horner(width, 1, 2, p->odd ? enough : 2, square, a, rows, b, columns, other);
            for (size_t j = 0; j < width; ++j)
                out[j] = fma(rho[j], other[j], out[j]);
        }
    }
    for (size_t j = 0; j < width; ++j)
        out[j] += 0.0 * (p->one.rest[i] * p->two.rest[left + j]) + 0.0 * C[j];
    if (p->checked)
        for (size_t j = 0; j < width; ++j)
            if (!(pow(fabs(rho[j]), (double)p->terms) * p->one.rest[i] * p->two.rest[left + j] <= SYMRES_ACCEPTED))
                out[j] = NAN;
}

/* The same for entries with kernels of their own, given by places in the expansions. */
static void symres_entry_sums(const symres_product *p, size_t width, const double *K1, const size_t *one, const double *K2,
    const size_t *two, const double *C, double *out)
{
    for (size_t j = 0; j < width; ++j) {
        const double size = sqrt(K1[j]) * sqrt(K2[j]);
        double r = C[j] / size, value = 0.0;
        r = r > 1.0 ? 1.0 : r;
        r = r < -1.0 ? -1.0 : r;
        r = size == 0.0 ? 0.0 : r;
        const double rest = p->one.rest[one[j]] * p->two.rest[two[j]];
        for (size_t n = symres_enough(p, fabs(r)); n-- > 0;)
            value = fma(value, r, p->one.values[n * p->one.count + one[j]] * p->two.values[n * p->two.count + two[j]]);
        const int lacks = p->checked && !(pow(fabs(r), (double)p->terms) * rest <= SYMRES_ACCEPTED);
        out[j] = lacks ? NAN : value + 0.0 * rest + 0.0 * C[j];
    }
}

typedef struct {
    double kernel;
    size_t place;
} symres_placed;

static int symres_compare(const void *one, const void *two)
{
    const double a = ((const symres_placed *)one)->kernel, b = ((const symres_placed *)two)->kernel;
    return (a > b) - (a < b);
}

/* Different kernels, and the place of each of the given ones among them; returns how many there are. */
static size_t symres_different(size_t count, const double *K, symres_placed *sorted, double *different, size_t *place)
{
    size_t found = 0;
    for (size_t i = 0; i < count; ++i) {
        sorted[i].kernel = K[i] >= 0.0 ? K[i] : -1.0; /* what is no number counts as -1, and has none */
        sorted[i].place = i;
    }
    qsort(sorted, count, sizeof(symres_placed), symres_compare);
    for (size_t i = 0; i < count; ++i) {
        if (found == 0 || different[found - 1] != sorted[i].kernel)
            different[found++] = sorted[i].kernel;
        place[sorted[i].place] = found - 1;
    }
    return found;
}

/* The average of entries with kernels of their own; no numbers where there is no memory. */
static void symres_entries_of_series(symres_values f, symres_values g, const double *parameters, size_t width, const double *K1,
    const double *K2, const double *C, double *out)
{
    symres_placed *sorted = malloc(sizeof(symres_placed) * width);
    double *different = malloc(sizeof(double) * 2 * width);
    size_t *places = malloc(sizeof(size_t) * 2 * width);
    symres_product product = {0};
    int failed = !sorted || !different || !places;
    if (!failed) {
        const size_t one = symres_different(width, K1, sorted, different, places);
        const size_t two = symres_different(width, K2, sorted, different + width, places + width);
        failed = symres_prepare_product(f, g, parameters, one, different, two, different + width, &product);
    }
    if (failed)
        for (size_t j = 0; j < width; ++j)
            out[j] = NAN;
    else
        symres_entry_sums(&product, width, K1, places, K2, places + width, C, out);
    symres_release_product(&product);
    free(sorted);
    free(different);
    free(places);
}

