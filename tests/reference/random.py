"""xoshiro256++ (Blackman and Vigna, 2019), seeded by splitmix64: core/common/random.hpp."""

MASK = 2**64 - 1


def rotate(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


class Random:
    def __init__(self, seed):
        self.state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.state.append(z ^ (z >> 31))

    def next(self):
        s = self.state
        result = (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def below(self, bound):
        """Uniform in 0, ..., bound − 1, for bound < 2³²."""
        return ((self.next() >> 32) * bound) >> 32

    def uniform(self):
        """Uniform in [0, 1)."""
        return (self.next() >> 11) * 2.0**-53

    def shuffle(self, items, count):
        """Put the first `count` items in random order (Fisher and Yates)."""
        for k in range(count - 1, 0, -1):
            j = self.below(k + 1)
            items[k], items[j] = items[j], items[k]
