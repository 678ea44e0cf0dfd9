/* 2**k for an integer -1022 <= k <= 1023: the sum with 1.5 * 2**52 has k in its last bits. */
static inline double symres_power_of_two(double k) {
    union { double number; uint64_t bits; } u;
    u.number = k + 6755399441055744.0;
    u.bits = (u.bits + 1023u) << 52;
    return u.number;
}

/* 2**k for an integer -126 <= k <= 127. */
static inline float symres_power_of_twof(float k) {
    union { float number; uint32_t bits; } u;
    u.number = k + 12582912.0f;
    u.bits = (u.bits + 127u) << 23;
    return u.number;
}

/* Room for zeros at a multiple of 64 bytes, as vector code likes it; the address of the block stands before it. */
static inline void *symres_room(size_t count, size_t size) {
    char *const block = calloc(count * size + 128, 1);
    if (!block)
        return NULL;
    char *const room = block + 128 - (uintptr_t)block % 64;
    ((void **)room)[-1] = block;
    return room;
}

static inline void symres_free(void *room) {
    if (room)
        free(((void **)room)[-1]);
}
