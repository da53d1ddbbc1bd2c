//! The positions of windows: lists of offsets into zero-padded images.

use super::tile::Spot;
use forerun_ops::convolution::Geometry;

/// The extents of zero-padded images, one plane per channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Padded {
    /// Extents without padding.
    pub(super) input: [usize; 3],
    /// Padding before the image along each axis.
    pub(super) before: [usize; 3],
    /// Extents with padding.
    pub(super) extents: [usize; 3],
}

impl Padded {
    /// The number of elements of a plane.
    pub(super) fn plane(&self) -> usize {
        self.extents.iter().product()
    }

    /// Whether there is no padding.
    pub(super) fn is_plain(&self) -> bool {
        self.extents == self.input
    }
}

/// Windows that use the same kernel elements.
pub(super) struct Phase {
    /// The offset within a window, and the index of the kernel element.
    pub(super) taps: Vec<(usize, usize)>,
    /// The offset of each window in a plane, and the pixel that it computes; in the order of pixels.
    pub(super) spots: Vec<Spot>,
}

/// One axis of a phase.
#[derive(Default)]
struct AxisPhase {
    taps: Vec<(usize, usize)>,
    places: Vec<(usize, usize)>,
}

/// The padded extents of the input, and the phases. The result of a phase without taps is zero.
pub(super) struct Phases {
    pub(super) padded: Padded,
    pub(super) all: Vec<Phase>,
}

impl Phases {
    /// Windows over the data of a convolution.
    pub(super) fn forward(g: &Geometry) -> Phases {
        let axis = |a: usize| AxisPhase {
            taps: (0..g.kernel[a]).map(|k| (k * g.dilation[a], k)).collect(),
            places: (0..g.output[a]).map(|o| (o * g.stride[a], o)).collect(),
        };
        let needed = |a: usize| (g.output[a] - 1) * g.stride[a] + (g.kernel[a] - 1) * g.dilation[a] + 1;
        Phases::join([0, 1, 2].map(|a| vec![axis(a)]), g.input, g.padding, [0, 1, 2].map(needed), (g.kernel, g.output))
    }

    /// Windows over the result of a convolution, one for each pixel of its input.
    pub(super) fn transposed(g: &Geometry) -> Phases {
        let lead = |a: usize| (g.kernel[a] - 1) * g.dilation[a] / g.stride[a];
        let axis = |a: usize| {
            let (stride, lead) = (g.stride[a], lead(a));
            let mut phases: Vec<AxisPhase> = (0..stride).map(|_| AxisPhase::default()).collect();
            for k in 0..g.kernel[a] {
                let reach = k * g.dilation[a];
                // A window that starts `reach / stride` before.
                phases[reach % stride].taps.push((lead - reach / stride, k));
            }
            for i in 0..g.input[a] {
                let place = i + g.padding[a];
                phases[place % stride].places.push((place / stride, i));
            }
            phases
        };
        let needed = |a: usize| (g.input[a] - 1 + g.padding[a]) / g.stride[a] + lead(a) + 1;
        let axes = [0, 1, 2];
        Phases::join(axes.map(axis), g.output, axes.map(lead), axes.map(needed), (g.kernel, g.input))
    }

    fn join(
        axes: [Vec<AxisPhase>; 3],
        input: [usize; 3],
        before: [usize; 3],
        needed: [usize; 3],
        (kernel, made): ([usize; 3], [usize; 3]),
    ) -> Phases {
        let extents = [0, 1, 2].map(|a| needed[a].max(before[a] + input[a]));
        let flat = |[d, h, w]: [usize; 3], of: [usize; 3]| (d * of[1] + h) * of[2] + w;
        let mut all = Vec::new();
        for d in &axes[0] {
            for h in &axes[1] {
                for w in &axes[2] {
                    let mut phase = Phase { taps: Vec::new(), spots: Vec::new() };
                    for (d, h, w) in every(&d.taps, &h.taps, &w.taps) {
                        phase.taps.push((flat([d.0, h.0, w.0], extents), flat([d.1, h.1, w.1], kernel)));
                    }
                    for (d, h, w) in every(&d.places, &h.places, &w.places) {
                        let from = flat([d.0, h.0, w.0], extents);
                        phase.spots.push(Spot { from, row: flat([d.1, h.1, w.1], made) });
                    }
                    all.push(phase);
                }
            }
        }
        all.retain(|phase| !phase.spots.is_empty());
        Phases { padded: Padded { input, before, extents }, all }
    }
}

type Pairs<'a> = &'a [(usize, usize)];

fn every<'a>(
    d: Pairs<'a>,
    h: Pairs<'a>,
    w: Pairs<'a>,
) -> impl Iterator<Item = ((usize, usize), (usize, usize), (usize, usize))> + 'a {
    d.iter().flat_map(move |d| h.iter().flat_map(move |h| w.iter().map(move |w| (*d, *h, *w))))
}
