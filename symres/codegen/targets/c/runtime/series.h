/* Averages of two variables as series in the correlation: the coefficients of all inputs, in blocks of 64. */
typedef struct {
    void (*block)(long, double, const double *, const double *, double *restrict, double *restrict);
    double (*kernel)(double, const double *);
} symres_factor;

/* A function at inputs. */
typedef struct {
    double *coefficients, *tails, *rests, *inverses, *sizes; /* block by block */
    double *most;                                    /* the largest tails of all blocks */
} symres_expansion;

typedef struct {
    long terms, tails;
    symres_expansion first[SYMRES_FACTORS], second[SYMRES_FACTORS]; /* one for each function */
    double *room, *other;
} symres_series;

/* Room for values at the nodes of 64 inputs, even and odd, and for what else coefficients take. */
static size_t symres_workspace(size_t nodes)
{
    return nodes * 130 + 8192 + 256;
}

/* How many nodes and terms the input with the largest root of a kernel takes; a smaller root where there are none. */
static double symres_chosen(symres_factor f, double root, const double *p, double *choice, double *work)
{
    const double terms = choice[1];
    const size_t most = 16384;
    double *even = work, *odd = even + 64 * most, *room = odd + 64 * most, *one = room + 2 * most, *two = one + 4096;
    double roots[64];
    for (;;) {
        for (int j = 0; j < 64; ++j)
            roots[j] = root;
        while (choice[2] == 0) {
            const long count = (long)choice[0], listed = (long)choice[1];
            f.block(count, 13.0 / count, roots, p, even, odd);
            const double total = symres_probed(listed, count, 13.0 / count, even, odd, room, one);
            f.block(2 * count, 6.5 / count, roots, p, even, odd);
            const double finer = symres_probed(listed, 2 * count, 6.5 / count, even, odd, room, two);
            symres_judge(total, finer, one, two, choice);
        }
        if (choice[2] == 1)
            return root;
        choice[1] = terms, choice[2] = 0, choice[3] = 1e-15;
        if (!(root > 1e-100)) /* not even constants have numbers */
            return -1;
        root *= 0.5;
    }
}

/* The roots of the kernels of a function; nan where there is no number. */
static double symres_root(symres_factor f, double K, const double *p)
{
    const double kernel = f.kernel(K, p);
    return kernel >= 0 ? sqrt(kernel) : (double)NAN;
}

/* Some coefficients of a function for some inputs, from the term ``begin`` on; 1 if there is no memory. */
static int symres_expanded(symres_factor f, size_t count, const double *K, double limit, const double *p, long begin, long some,
    long terms, long nodes, const double *table, symres_expansion *out)
{
    const size_t blocks = (count + 63) / 64, tails = 2 * ((size_t)terms / 8) + 2;
    const double *rows = table + 2 * nodes;
    int failed = 0;
SYMRES_PRAGMA(omp parallel if (blocks > 3))
    {
        double *work = malloc(sizeof(double) * symres_workspace((size_t)nodes));
        if (!work) {
SYMRES_PRAGMA(omp atomic write)
            failed = 1;
        }
SYMRES_PRAGMA(omp for schedule(dynamic))
        for (ptrdiff_t b = 0; b < (ptrdiff_t)blocks; ++b) {
            if (!work)
                continue;
            double roots[64], *even = work, *odd = even + 64 * nodes, *room = odd + 64 * nodes;
            double *coefficients = out->coefficients + 64 * terms * b;
            for (size_t j = 0; j < 64; ++j) {
                const size_t i = 64 * (size_t)b + j;
                const double root = i < count ? symres_root(f, K[i], p) : 0;
                roots[j] = root <= limit ? root : (double)NAN;
                out->inverses[i] = roots[j] == 0 ? 0 : 1 / roots[j];
            }
            f.block(nodes, 13.0 / nodes, roots, p, even, odd);
            symres_products(0, some, nodes, rows, even, coefficients + 64 * begin);
            symres_products(1, some, nodes, rows, odd, coefficients + 64 * begin);
            if (begin == 0)
                symres_squares(nodes, rows, even, odd, out->sizes + 64 * b);
            if (begin + some == terms)
                symres_remainders(terms, coefficients, out->sizes + 64 * b, out->tails + tails * b, out->rests + 64 * b, room);
        }
        free(work);
    }
    if (begin + some == terms && !failed) {
        memcpy(out->most, out->tails, sizeof(double) * tails);
        for (size_t b = 1; b < blocks; ++b)
            symres_larger_tails(out->tails + tails * b, (long)tails, out->most);
    }
    return failed;
}

/* Room for the coefficients of all functions, NULL if there is none. */
static double *symres_room(size_t number, size_t count, long terms, symres_expansion *out)
{
    const size_t blocks = (count + 63) / 64, tails = 2 * ((size_t)terms / 8) + 2;
    const size_t size = blocks * (64 * (size_t)terms + tails + 192) + tails;
    double *room = malloc(sizeof(double) * size * number + 64), *at = room;
    at += room ? (64 - (uintptr_t)room % 64) % 64 / sizeof(double) : 0;
    for (size_t k = 0; k < number && room; ++k) {
        out[k].coefficients = at, at += blocks * 64 * (size_t)terms;
        out[k].rests = at, at += blocks * 64;
        out[k].inverses = at, at += blocks * 64;
        out[k].sizes = at, at += blocks * 64;
        out[k].tails = at, at += blocks * tails;
        out[k].most = at, at += tails;
    }
    return room;
}

/* The coefficients of functions for the first and for the second inputs, which may be none; 1 if there is no memory. */
static int symres_prepare_series(const symres_factor *factors, size_t number, const double *p, size_t count1,
    const double *K1, size_t count2, const double *K2, symres_series *out)
{
    const int same = count2 == 0 || (count1 == count2 && !memcmp(K1, K2, sizeof(double) * count1));
    double limits[SYMRES_FACTORS], choice[3] = {64, 32, 0};
    double *work = malloc(sizeof(double) * symres_workspace(16384)), *table = NULL;
    long some = 0;
    int failed = !work;
    out->room = out->other = NULL;
    if (work) {
        for (size_t k = 0; k < number; ++k) {
            limits[k] = 0;
            for (size_t i = 0; i < count1 + (same ? 0 : count2); ++i) {
                const double root = symres_root(factors[k], i < count1 ? K1[i] : K2[i - count1], p);
                limits[k] = root > limits[k] && root < INFINITY ? root : limits[k];
            }
            double one[4] = {64, 32, 0, 1e-15};
            limits[k] = symres_chosen(factors[k], limits[k], p, one, work);
            choice[0] = one[0] > choice[0] ? one[0] : choice[0];
            choice[1] = k == 0 || one[1] > choice[1] ? one[1] : choice[1];
        }
        for (size_t k = 0; k < number && number > 1; ++k) { /* what suffices for one must for the others */
            double one[4] = {choice[0], choice[1], 0, 1e-15};
            limits[k] = symres_chosen(factors[k], limits[k], p, one, work);
            choice[0] = one[0] > choice[0] ? one[0] : choice[0];
        }
        out->terms = (long)choice[1];
        out->tails = 2 * (out->terms / 8) + 2;
        const long most = 8 * (131072 / (long)choice[0]); /* terms at a time: the table stays small */
        some = out->terms < most ? out->terms : most;
        table = malloc(sizeof(double) * (size_t)(some + 2) * (size_t)choice[0]);
        out->room = symres_room(number, count1, out->terms, out->first);
        out->other = same ? NULL : symres_room(number, count2, out->terms, out->second);
        failed = !table || !out->room || !(same || out->other);
    }
    if (!failed) {
        const long nodes = (long)choice[0];
        for (long begin = 0; begin < out->terms && !failed; begin += some) {
            const long now = out->terms - begin < some ? out->terms - begin : some;
            symres_polynomials(begin, some, now, nodes, 13.0 / nodes, table);
            for (size_t k = 0; k < number && !failed; ++k) {
                failed = symres_expanded(factors[k], count1, K1, limits[k], p, begin, now, out->terms, nodes, table, out->first + k);
                if (!same && !failed)
                    failed = symres_expanded(factors[k], count2, K2, limits[k], p, begin, now, out->terms, nodes, table, out->second + k);
            }
        }
        for (size_t k = 0; k < number && same; ++k)
            out->second[k] = out->first[k];
    }
    free(table);
    free(work);
    return failed;
}

static void symres_free_series(symres_series *series)
{
    free(series->room);
    free(series->other);
}

/* The averages of 64 pairs of one row; whether both functions are equal is told. */
static void symres_chunk_of_row(const symres_series *s, const symres_expansion *one, const symres_expansion *two,
    const double *row, size_t i, size_t block, int equal, const double *rho, double *work, double *out)
{
    symres_chunk(s->terms, row, one->tails + i / 64 * (size_t)s->tails, one->rests[i],
        two->coefficients + block * 64 * (size_t)s->terms, two->tails + block * (size_t)s->tails, two->rests + 64 * block, rho,
        work, out);
    if (equal)
        symres_equal_in_row(rho, one->inverses[i], two->inverses + 64 * block, one->sizes[i], out);
}

/* Kernels of pairs, each once: the first 2*pairs numbers of room are the given ones, nan as infinity; then come the
 * different ones, whose number is returned, then the place of each given one among those. */
static int symres_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t symres_different(size_t pairs, double *room)
{
    double *sorted = room + 2 * pairs, *places = sorted + 2 * pairs;
    size_t count = 0;
    memcpy(sorted, room, sizeof(double) * 2 * pairs);
    qsort(sorted, 2 * pairs, sizeof(double), symres_order);
    for (size_t i = 0; i < 2 * pairs; ++i)
        if (i == 0 || sorted[i] != sorted[count - 1])
            sorted[count++] = sorted[i];
    for (size_t i = 0; i < 2 * pairs; ++i)
        places[i] = (double)((double *)bsearch(room + i, sorted, count, sizeof(double), symres_order) - sorted);
    return count;
}
