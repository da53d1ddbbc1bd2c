//! A baseline JPEG encoder: gray or YCbCr at full resolution, with the tables of the standard's Annex K.
//!
//! Written here because the maintained encoders come with a colour management library, or with a licence that this
//! project does not use.

use std::f32::consts::PI;

const BLOCK: usize = 8;
const AREA: usize = BLOCK * BLOCK;

/// The order in which coefficients are stored.
const ZIGZAG: [u8; AREA] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21,
    28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63,
];

/// Steps of quantisation at quality 50, row by row: brightness, colours.
const STEPS: [[u8; AREA]; 2] = [
    [
        16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29,
        51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121,
        120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
    ],
    [
        17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99,
        99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
        99, 99, 99, 99, 99, 99, 99, 99,
    ],
];

/// A Huffman table as a file stores it: how many codes have 1 to 16 bits, and their symbols.
struct Table {
    counts: [u8; 16],
    symbols: &'static [u8],
}

/// Tables of first coefficients: brightness, colours.
const FIRST: [Table; 2] = [
    Table {
        counts: [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
        symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    },
    Table {
        counts: [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
        symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    },
];

/// Tables of the other coefficients: brightness, colours.
const OTHERS: [Table; 2] = [
    Table {
        counts: [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d],
        symbols: &[
            0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
            0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72,
            0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37,
            0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
            0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83,
            0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3,
            0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
            0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
            0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
        ],
    },
    Table {
        counts: [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77],
        symbols: &[
            0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13, 0x22,
            0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1,
            0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18, 0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36,
            0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
            0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a,
            0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a,
            0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba,
            0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda,
            0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
        ],
    },
];

impl Table {
    /// Code and number of bits by symbol.
    fn codes(&self) -> [(u16, u8); 256] {
        let mut codes = [(0, 0); 256];
        let (mut code, mut symbols) = (0, self.symbols.iter());
        for (bits, &count) in (1..).zip(&self.counts) {
            for &symbol in symbols.by_ref().take(count.into()) {
                codes[usize::from(symbol)] = (code, bits);
                code += 1;
            }
            code <<= 1;
        }
        codes
    }

    /// The contents of a segment that defines the table as table `kind` (0: first, 1: others) of a component's class.
    fn segment(&self, kind: usize, class: usize) -> Vec<u8> {
        [&[(kind << 4 | class) as u8][..], &self.counts, self.symbols].concat()
    }
}

/// Encodes rows of pixels with one channel or three; the caller has checked extents and quality.
pub(crate) fn encode(values: &[u8], height: usize, width: usize, channels: usize, quality: u8) -> Vec<u8> {
    let classes = channels.min(2);
    let steps: Vec<[u8; AREA]> = STEPS[..classes].iter().map(|table| table.map(|step| scaled(step, quality))).collect();
    let mut file = vec![0xff, 0xd8];
    segment(&mut file, 0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    for (class, table) in steps.iter().enumerate() {
        segment(&mut file, 0xdb, &[&[class as u8][..], &ZIGZAG.map(|place| table[usize::from(place)])].concat());
    }
    let [[high_row, row], [high_column, column]] = [height, width].map(|extent| (extent as u16).to_be_bytes());
    let mut frame = vec![8, high_row, row, high_column, column, channels as u8];
    let mut scan = vec![channels as u8];
    for component in 0..channels as u8 {
        let class = component.min(1);
        frame.extend([component + 1, 0x11, class]);
        scan.extend([component + 1, class << 4 | class]);
    }
    segment(&mut file, 0xc0, &frame);
    for class in 0..classes {
        segment(&mut file, 0xc4, &FIRST[class].segment(0, class));
        segment(&mut file, 0xc4, &OTHERS[class].segment(1, class));
    }
    scan.extend([0, 63, 0]);
    segment(&mut file, 0xda, &scan);
    write_blocks(&mut Bits { file: &mut file, held: 0, count: 0 }, values, height, width, channels, &steps);
    file.extend([0xff, 0xd9]);
    file
}

/// A step of quantisation for a quality, with libjpeg's scale.
fn scaled(step: u8, quality: u8) -> u8 {
    let quality = u32::from(quality);
    let percent = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    ((u32::from(step) * percent + 50) / 100).clamp(1, 255) as u8
}

fn segment(file: &mut Vec<u8>, marker: u8, content: &[u8]) {
    file.extend([0xff, marker]);
    file.extend((content.len() as u16 + 2).to_be_bytes());
    file.extend(content);
}

fn write_blocks(
    bits: &mut Bits<'_>,
    values: &[u8],
    height: usize,
    width: usize,
    channels: usize,
    steps: &[[u8; AREA]],
) {
    let (first, others) = (FIRST.each_ref().map(Table::codes), OTHERS.each_ref().map(Table::codes));
    let cosines = cosines();
    let mut before = [0; 3];
    for top in (0..height).step_by(BLOCK) {
        for left in (0..width).step_by(BLOCK) {
            let mut blocks = [[0.0; AREA]; 3];
            for at in 0..AREA {
                // Beyond the image, its last pixels are repeated.
                let (row, column) = ((top + at / BLOCK).min(height - 1), (left + at % BLOCK).min(width - 1));
                let pixel = &values[(row * width + column) * channels..][..channels];
                for (block, value) in blocks.iter_mut().zip(components(pixel)) {
                    block[at] = value;
                }
            }
            for (component, block) in blocks[..channels].iter().enumerate() {
                let class = component.min(1);
                let quantised = quantised(block, &cosines, &steps[class]);
                write_block(bits, &quantised, &mut before[component], &first[class], &others[class]);
            }
        }
    }
    bits.finish();
}

/// Brightness and colours of a pixel, around 0.
fn components(pixel: &[u8]) -> [f32; 3] {
    let &[red, green, blue] = pixel else { return [f32::from(pixel[0]) - 128.0, 0.0, 0.0] };
    let [red, green, blue] = [red, green, blue].map(f32::from);
    [
        0.299 * red + 0.587 * green + 0.114 * blue - 128.0,
        -0.168_735_9 * red - 0.331_264_1 * green + 0.5 * blue,
        0.5 * red - 0.418_687_6 * green - 0.081_312_4 * blue,
    ]
}

/// The matrix of the cosine transform of eight numbers, by frequency and place.
fn cosines() -> [[f32; BLOCK]; BLOCK] {
    std::array::from_fn(|frequency| {
        let scale = if frequency == 0 { 0.125f32.sqrt() } else { 0.5 };
        std::array::from_fn(|place| scale * ((2 * place + 1) as f32 * frequency as f32 * PI / 16.0).cos())
    })
}

/// The coefficients of a block in the order of a file, divided by their steps and rounded.
fn quantised(block: &[f32; AREA], cosines: &[[f32; BLOCK]; BLOCK], steps: &[u8; AREA]) -> [i32; AREA] {
    let mut rows = [[0.0; BLOCK]; BLOCK];
    for (made, row) in rows.iter_mut().zip(block.as_chunks::<BLOCK>().0) {
        *made = cosines.map(|line| line.iter().zip(row).map(|(cosine, value)| cosine * value).sum());
    }
    ZIGZAG.map(|place| {
        let (down, across) = (usize::from(place) / BLOCK, usize::from(place) % BLOCK);
        let coefficient: f32 = cosines[down].iter().zip(&rows).map(|(cosine, row)| cosine * row[across]).sum();
        (coefficient / f32::from(steps[usize::from(place)])).round() as i32
    })
}

type Codes = [(u16, u8); 256];

fn write_block(bits: &mut Bits<'_>, block: &[i32; AREA], before: &mut i32, first: &Codes, others: &Codes) {
    let difference = block[0] - *before;
    *before = block[0];
    let size = size_of(difference);
    bits.write_code(first[usize::from(size)]);
    bits.write_value(difference, size);
    let mut zeros = 0u8;
    for &coefficient in &block[1..] {
        if coefficient == 0 {
            zeros += 1;
            continue;
        }
        for _ in 0..zeros / 16 {
            bits.write_code(others[0xf0]);
        }
        let size = size_of(coefficient);
        bits.write_code(others[usize::from((zeros % 16) << 4 | size)]);
        bits.write_value(coefficient, size);
        zeros = 0;
    }
    if zeros > 0 {
        bits.write_code(others[0]);
    }
}

/// The number of bits of a value.
fn size_of(value: i32) -> u8 {
    (i32::BITS - value.unsigned_abs().leading_zeros()) as u8
}

/// Writes bits, and a zero after each byte 0xff.
struct Bits<'a> {
    file: &'a mut Vec<u8>,
    held: u32,
    count: u8,
}

impl Bits<'_> {
    fn write_code(&mut self, (code, count): (u16, u8)) {
        self.write(code.into(), count);
    }

    /// The low bits of a positive value, or of a negative value minus one.
    fn write_value(&mut self, value: i32, size: u8) {
        let low = if value < 0 { value - 1 } else { value };
        self.write(low as u32 & ((1 << size) - 1), size);
    }

    fn write(&mut self, bits: u32, count: u8) {
        self.held = self.held << count | bits;
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.held >> self.count) as u8;
            self.file.push(byte);
            if byte == 0xff {
                self.file.push(0);
            }
        }
    }

    /// Fills up the last byte with ones.
    fn finish(&mut self) {
        self.write(0x7f, 7);
        self.count = 0;
    }
}
