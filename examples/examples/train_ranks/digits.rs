//! Images of digits: drawn by a program, with shifts and noise that a seed decides.

/// Pixels along an edge of an image.
pub const SIDE: usize = 12;
/// Pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;
/// The digits that there are.
pub const CLASSES: usize = 10;

/// Images to train on.
pub const TRAINING: usize = 8192;
/// Images that are not trained on, which come after the others.
pub const TESTING: usize = 1024;

/// The digits, of seven rows and five columns: a bit is a pixel, the lowest one of a row on the right.
const SHAPES: [[u8; 7]; CLASSES] = [
    [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
    [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
    [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
    [0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110],
    [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
    [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
    [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
    [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
    [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
    [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
];

/// Images and their labels, one after another.
#[derive(Default)]
pub struct Digits {
    pub images: Vec<u8>,
    pub labels: Vec<u8>,
}

impl Digits {
    /// Draws images by their numbers: each depends on the seed and its number alone, so that every rank draws
    /// its own.
    pub fn draw(seed: u64, numbers: impl IntoIterator<Item = usize>) -> Self {
        let mut digits = Self::default();
        for number in numbers {
            digits.add(&mut Random::new(seed, number as u64));
        }
        digits
    }

    /// Draws one more.
    fn add(&mut self, random: &mut Random) {
        let label = random.below(CLASSES);
        let [left, top] = [2 + random.below(3), 1 + random.below(3)];
        let ink = 0.5 + 0.5 * random.unit();
        let in_shape = |x: usize, y: usize| {
            let row = y.checked_sub(top).and_then(|row| SHAPES[label].get(row));
            let column = x.checked_sub(left).filter(|&column| column < 5);
            row.zip(column).is_some_and(|(row, column)| row >> (4 - column) & 1 == 1)
        };
        for at in 0..PIXELS {
            let drawn = if in_shape(at % SIDE, at / SIDE) { ink } else { 0.0 };
            // The cast cuts off what is darker than black and lighter than white.
            let noise = 0.4 * (random.unit() + random.unit() - 1.0);
            self.images.push((255.0 * (drawn + noise)) as u8);
        }
        self.labels.push(label as u8);
    }
}

/// The order of the images to train on, in one of the times that all of them are trained on. Every rank comes
/// to the same one.
pub fn order(seed: u64, epoch: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..TRAINING).collect();
    // The numbers of images are below, so that an order shares no random numbers with an image.
    let mut random = Random::new(seed, (TRAINING + TESTING + epoch) as u64);
    for last in (1..TRAINING).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

/// The weights before the first step: `inputs` rows for as many units, between plus and minus `1 /
/// sqrt(inputs)`.
pub fn weights(random: &mut Random, inputs: usize, units: usize) -> Vec<f32> {
    let scale = 1.0 / (inputs as f32).sqrt();
    (0..inputs * units).map(|_| scale * (2.0 * random.unit() - 1.0)).collect()
}

/// Random numbers: SplitMix64, of Steele, Lea and Flood.
pub struct Random(u64);

impl Random {
    /// The numbers that belong to one thing, such as an image.
    pub fn new(seed: u64, of: u64) -> Self {
        let mut random = Self(seed);
        Self(random.bits() ^ of.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `n`, which is small.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number from 0 to 1, without 1.
    fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 24) as f32
    }
}
