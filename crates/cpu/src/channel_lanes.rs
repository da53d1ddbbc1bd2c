//! Channels as the lanes of vectors: of a few channels, the elements of each pixel side by side, so that what is done to a pixel is done
//! to all of them by one instruction. Whole arrays keep their channels apart; only the channels at work are transposed.
//!
//! Invariant: every lane is computed as the channel alone would be.

use crate::convolution::Stored;

/// The largest number of channels that are computed together.
pub(crate) const MOST_LANES: usize = 16;

/// The lanes of some pixels or places.
pub(crate) type Lanes<T, const N: usize, const COUNT: usize> = [[T; N]; COUNT];

/// Elements that are transposed together: they stay in the first-level cache.
const TOGETHER: usize = 32;

/// Transposes `own` channels, from element `begin` of each on. Channels are `apart` elements apart. Other lanes are left alone.
#[inline(always)]
pub(crate) fn gather<E: Stored, const N: usize>(
    x: &[E],
    apart: usize,
    own: usize,
    begin: usize,
    to: &mut [[E::Wide; N]],
) {
    for (tile, to) in to.chunks_mut(TOGETHER).enumerate() {
        for lane in 0..own.min(N) {
            let line = &x[lane * apart + begin + tile * TOGETHER..][..to.len()];
            for (to, x) in to.iter_mut().zip(line) {
                to[lane] = x.widen();
            }
        }
    }
}

/// The inverse of [`gather`], for a result of `own` channels.
#[inline(always)]
pub(crate) fn scatter<E: Stored, const N: usize>(from: &[[E::Wide; N]], own: usize, begin: usize, to: &mut [E]) {
    let apart = to.len() / own;
    for (tile, from) in from.chunks(TOGETHER).enumerate() {
        for lane in 0..own.min(N) {
            let line = &mut to[lane * apart + begin + tile * TOGETHER..][..from.len()];
            for (to, from) in line.iter_mut().zip(from) {
                *to = E::round(from[lane]);
            }
        }
    }
}

/// Runs a body for a few channels at a time: a constant number of lanes, the first channel, and the number of channels, which may be
/// smaller.
macro_rules! with_lanes {
    ($channels:expr, |$lanes:ident, $channel:ident, $own:ident| $body:block) => {{
        let (mut first, channels): (usize, usize) = (0, $channels);
        while first < channels {
            let ($channel, $own) = (first, (channels - first).min($crate::channel_lanes::MOST_LANES));
            match $own {
                1..=4 => {
                    const $lanes: usize = 4;
                    $body
                }
                5..=8 => {
                    const $lanes: usize = 8;
                    $body
                }
                _ => {
                    const $lanes: usize = $crate::channel_lanes::MOST_LANES;
                    $body
                }
            }
            first += $own;
        }
    }};
}
pub(crate) use with_lanes;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gathered_is_scattered() {
        let (own, apart, begin, count) = (5, 90, 7, 70);
        let x: Vec<f32> = (0..own * apart).map(|i| i as f32).collect();
        let mut lanes = vec![[-1.0f32; 8]; count];
        gather(&x, apart, own, begin, &mut lanes);
        assert_eq!(lanes[69], [76.0, 166.0, 256.0, 346.0, 436.0, -1.0, -1.0, -1.0]);
        let mut to = vec![0.0f32; own * apart];
        scatter(&lanes, own, begin, &mut to);
        for (i, (to, x)) in to.iter().zip(&x).enumerate() {
            let inside = (begin..begin + count).contains(&(i % apart));
            assert_eq!(*to, if inside { *x } else { 0.0 }, "{i}");
        }
    }

    #[test]
    fn every_channel_is_in_one_block() {
        for channels in 0..40usize {
            let (mut next, mut sizes) = (0, Vec::new());
            with_lanes!(channels, |LANES, channel, own| {
                assert_eq!(channel, next);
                assert!(own <= LANES && LANES <= MOST_LANES);
                next += own;
                sizes.push(own);
            });
            assert_eq!(next, channels);
        }
    }
}
