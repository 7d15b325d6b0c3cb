//! A search in a book: passages of a mapped token file become mean embeddings on the device, and those
//! nearest to a phrase are shown.
//!
//! ```text
//! cargo run --release --example tokens [PHRASE…]
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};

use memmap2::Mmap;
use thalweg::bytemuck;
use thalweg::prelude::*;
use thalweg_examples::Arguments;
use thalweg_kernels::gather_f32;

/// Row `r` of `mean` is the mean of `length` rows of `x`, from row `r * length` on. A thread adds in the order
/// of the rows, so that every device has the same bits.
#[kernel]
#[requires(x.len() == length * mean.len())]
fn mean_of_rows(at: Index<2>, length: usize, width: usize, x: &[f32], mean: &mut Out<[f32]>) {
    let [r, column] = at.get();
    let Some(mean) = mean.get_mut(at) else { return };
    let mut sum = 0.0;
    for row in r * length..(r + 1) * length {
        sum += x[row * width + column];
    }
    *mean = sum / length as f32;
}

/// Tokens of a passage.
const LENGTH: usize = 16;
/// Numbers of an embedding.
const WIDTH: usize = 128;

// ANCHOR: pipeline
stream_pipeline! {
    /// The mean embedding of each passage.
    pipeline Passages {
        param rows: u32;
        resident table: [f32];               // an embedding for each token of the vocabulary
        input tokens: [u32; LENGTH];
        output means: [f32; WIDTH];
        device d_rows: [f32; LENGTH * WIDTH];
        device d_means: [f32; WIDTH];

        chunk c = 128;
        // The file is read up to three chunks ahead. Here it is in memory already, since `embeddings` goes
        // through all of it: with a model's table, this pipeline would be the first to read it.
        depth = 4;

        stage load { copy tokens -> d_tokens; }
        stage embed {
            gather_f32<<<blocks(c.len * LENGTH * WIDTH, 256), 256>>>(
                WIDTH as u32, rows, &d_tokens, &table, out d_rows);
            mean_of_rows<<<(blocks(WIDTH, 128), c.len as u32), 128>>>(
                LENGTH, WIDTH, &d_rows, out d_means as [c.len, WIDTH]);
        }
        stage store { copy d_means -> means; }
    }
}
// ANCHOR_END: pipeline

/// *Alice's Adventures in Wonderland* (see `data/README.md`): numbers of 32 bits, in the byte order of most
/// machines, and the pieces of text that they stand for, one a line.
const TOKENS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/alice.tokens");
const VOCABULARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/alice.vocabulary");
const PHRASES: [&str; 4] =
    ["a mad tea party", "painting the roses", "a mouse in a pool of tears", "dance with lobsters"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    let given = arguments.own.iter().map(|phrase| phrase.to_string_lossy().into_owned());
    let mut phrases: Vec<String> = given.collect();
    if phrases.is_empty() {
        phrases = PHRASES.map(str::to_owned).into();
    }

    let file = File::open(TOKENS)?;
    // SAFETY: nobody changes or shortens the file while it is mapped.
    let map = unsafe { Mmap::map(&file)? };
    // The system reads ahead of sequential access.
    #[cfg(unix)]
    map.advise(memmap2::Advice::Sequential)?;
    let tokens: &[u32] = bytemuck::try_cast_slice(&map).map_err(|error| error.to_string())?;
    let vocabulary = fs::read_to_string(VOCABULARY)?;
    let words = Words::new(vocabulary.lines().collect());
    let table = words.embeddings(tokens)?;

    // The tokens left over at the end are not a passage.
    let count = tokens.len() / LENGTH;
    let (tokens, mut means) = (&tokens[..count * LENGTH], vec![0.0; count * WIDTH]);
    let devices = arguments.devices()?;
    let report = Passages::new(&devices)?.run(words.pieces.len() as u32, &table, tokens, &mut means)?;
    println!("{report}\n");

    for phrase in &phrases {
        println!("{phrase}");
        let known = words.tokens(phrase);
        if known.is_empty() {
            println!("        none of its words is in the book");
            continue;
        }
        let query = mean(&known, &table);
        let alike = means.chunks(WIDTH).map(|mean| cosine(mean, &query));
        let mut nearest: Vec<_> = alike.enumerate().collect();
        nearest.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        for (passage, alike) in nearest.into_iter().take(3).filter(|&(_, alike)| alike > 0.0) {
            let tokens = &tokens[passage * LENGTH..][..LENGTH];
            let text: String = tokens.iter().map(|&token| words.pieces[token as usize]).collect();
            let line = format!("{alike:>6.2}  {:>2} %  {:.66}", passage * 100 / count, text.trim());
            println!("{}", line.trim_end());
        }
    }

    let expected = tokens.chunks(LENGTH).flat_map(|passage| mean(passage, &table));
    let wrong =
        means.iter().zip(expected).filter(|(mean, expected)| mean.to_bits() != expected.to_bits()).count();
    println!("\n{count} passages of {LENGTH} tokens; {wrong} numbers differ from a plain loop's");
    if wrong == 0 { Ok(()) } else { Err("a mean is wrong".into()) }
}

/// The pieces of text that tokens stand for. `Alice` and ` ALICE` are one word, known by the token that comes
/// first.
struct Words<'text> {
    pieces: Vec<&'text str>,
    words: Vec<usize>,
    numbers: HashMap<String, usize>,
}

impl<'text> Words<'text> {
    fn new(pieces: Vec<&'text str>) -> Self {
        let mut numbers = HashMap::new();
        let word =
            |(token, piece): (usize, &&str)| *numbers.entry(piece.trim().to_lowercase()).or_insert(token);
        let words = pieces.iter().enumerate().map(word).collect();
        Self { pieces, words, numbers }
    }

    /// Makes a row for each piece from the text itself, in place of a model's: a random vector of the word's
    /// own, plus the vectors of the words that are found near it.
    fn embeddings(&self, tokens: &[u32]) -> Result<Vec<f32>, String> {
        let word = |&token: &u32| self.words.get(token as usize).copied();
        let text: Option<Vec<usize>> = tokens.iter().map(word).collect();
        let text = text.ok_or("a token is not in the vocabulary")?;
        let mut counts = vec![0_u32; self.pieces.len()];
        text.iter().for_each(|&word| counts[word] += 1);
        // Words that are everywhere say little (the weights are those of Arora, Liang and Ma, 2017),
        // punctuation nothing.
        let mut weights = vec![0.0; self.pieces.len()];
        for (piece, &word) in self.pieces.iter().zip(&self.words) {
            if piece.trim().starts_with(char::is_alphabetic) {
                weights[word] = 1e-3 / (1e-3 + counts[word] as f32 / text.len() as f32);
            }
        }
        let own: Vec<[f32; WIDTH]> = (0..self.pieces.len() as u64).map(signs).collect();
        let mut near = vec![[0.0; WIDTH]; self.pieces.len()];
        for (i, &word) in text.iter().enumerate() {
            for &neighbour in &text[i.saturating_sub(4)..(i + 5).min(text.len())] {
                if neighbour != word {
                    add(&mut near[word], &own[neighbour], weights[neighbour]);
                }
            }
        }
        let row = |&word: &usize| {
            let mut row = [0.0; WIDTH];
            for part in [&own[word], &near[word]] {
                add(&mut row, part, weights[word] / length(part).max(f32::MIN_POSITIVE));
            }
            row
        };
        Ok(self.words.iter().flat_map(row).collect())
    }

    /// The tokens of a phrase's words, without those that the text does not have.
    fn tokens(&self, phrase: &str) -> Vec<u32> {
        let phrase = phrase.to_lowercase();
        let numbers = phrase.split(|c: char| !c.is_alphabetic()).filter_map(|word| self.numbers.get(word));
        numbers.map(|&number| number as u32).collect()
    }
}

/// Random signs, by SplitMix64, Steele et al., 2014.
fn signs(seed: u64) -> [f32; WIDTH] {
    std::array::from_fn(|i| {
        let mut x = (seed * WIDTH as u64 + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        if x >> 63 == 0 { 1.0 } else { -1.0 }
    })
}

fn add(sum: &mut [f32], vector: &[f32], times: f32) {
    sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += times * x);
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|x| x * x).sum::<f32>().sqrt()
}

/// How much alike two directions are, from -1 to 1.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>() / (length(a) * length(b)).max(f32::MIN_POSITIVE)
}

/// The mean embedding of some tokens, which the device must find for a passage.
fn mean(tokens: &[u32], table: &[f32]) -> [f32; WIDTH] {
    let mut sum = [0.0; WIDTH];
    for &token in tokens {
        add(&mut sum, &table[token as usize * WIDTH..][..WIDTH], 1.0);
    }
    sum.map(|sum| sum / tokens.len() as f32)
}
