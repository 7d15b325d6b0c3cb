//! Matrix products, compared with a plain loop in `f64`.
//!
//! A sum of `k` products in any order differs from the exact one by at most `k` roundings of the sum of the
//! products' absolute values (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). The roundings of
//! `alpha`, `beta` and the result come on top.

use std::fmt::Debug;

use thalweg::half::{bf16, f16};
use thalweg_libraries::cublas::{Element, Gemm};

/// An element, as the tests see it.
pub trait Number: Element + PartialEq + Debug {
    /// The element nearest to a value.
    fn of(value: f64) -> Self;
    /// Its value.
    fn exact(self) -> f64;
    /// Half the distance from 1 to the next number.
    const ROUNDING: f64;
    /// Half the smallest number above 0.
    const LEAST: f64;
    /// The error that each term adds to a sum of products. The matrix units that multiply 16-bit elements cut
    /// sums off rather than round them.
    const SUMMING: f64;
}

macro_rules! numbers {
    ($($number:ty: $of:expr, $exact:expr, $bits:literal, $least:expr, $summing:expr;)*) => {$(
        impl Number for $number {
            fn of(value: f64) -> Self {
                $of(value)
            }
            fn exact(self) -> f64 {
                $exact(self)
            }
            const ROUNDING: f64 = 1.0 / (1_u64 << $bits) as f64;
            const LEAST: f64 = $least;
            const SUMMING: f64 = $summing;
        }
    )*};
}
numbers! {
    f32: |x| x as f32, f64::from, 24, 1e-45, 1.0 / (1_u64 << 24) as f64;
    f64: |x| x, |x| x, 53, 0.0, 2.0 / (1_u64 << 53) as f64;
    f16: f16::from_f64, f16::to_f64, 11, 3e-8, 1.0 / (1_u64 << 23) as f64;
    bf16: bf16::from_f64, bf16::to_f64, 8, 5e-41, 1.0 / (1_u64 << 23) as f64;
}

/// Numbers from -1 to 1 without a pattern.
#[derive(Debug, Clone)]
pub struct Numbers(pub u64);

impl Numbers {
    /// From -1 to 1.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1 << 30) - 1.0
    }

    /// A vector of such numbers.
    pub fn vec<T: Number>(&mut self, len: usize) -> Vec<T> {
        (0..len).map(|_| T::of(self.next())).collect()
    }

    /// A whole number below `below`.
    pub fn below(&mut self, below: usize) -> usize {
        (((self.next() + 1.0) / 2.0 * below as f64) as usize).min(below - 1)
    }
}

/// One product and how its matrices lie.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Rows of `c`.
    pub m: usize,
    /// Columns of `c`.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Whether `a` and `b` are stored transposed.
    pub transposed: [bool; 2],
    /// Elements between the rows of `a`, `b` and `c`.
    pub gaps: [usize; 3],
}

/// An element of a result.
#[derive(Debug, Clone, Copy)]
pub struct Exact {
    /// `alpha` times the sum.
    pub product: f64,
    /// The term that is added to the product: `beta * c`, or a bias.
    pub added: f64,
    /// The sum of the absolute values of its terms.
    pub size: f64,
}

impl Exact {
    /// The whole element.
    pub fn value(self) -> f64 {
        self.product + self.added
    }

    /// With a bias.
    pub fn plus(self, bias: f64) -> Self {
        Self { added: bias, size: self.size + bias.abs(), ..self }
    }
}

impl Shape {
    /// Rows and columns of `a`, `b` and `c` as they are stored.
    pub fn stored(self) -> [[usize; 2]; 3] {
        let Self { m, n, k, transposed: [a, b], .. } = self;
        [if a { [k, m] } else { [m, k] }, if b { [n, k] } else { [k, n] }, [m, n]]
    }

    /// Elements from one row of `a`, `b` and `c` to the next.
    pub fn ld(self) -> [usize; 3] {
        let stored = self.stored();
        [0, 1, 2].map(|i| stored[i][1] + self.gaps[i])
    }

    /// Elements of each matrix, including its last gap; at least 1, since a pipeline has no items without
    /// elements.
    pub fn lengths(self) -> [usize; 3] {
        let (stored, ld) = (self.stored(), self.ld());
        [0, 1, 2].map(|i| (stored[i][0] * ld[i]).max(1))
    }

    /// The parameters for cuBLAS.
    pub fn gemm(self) -> Gemm {
        let [lda, ldb, ldc] = self.ld();
        let gemm = Gemm::new(self.m, self.n, self.k).lda(lda).ldb(ldb).ldc(ldc);
        let gemm = if self.transposed[0] { gemm.transpose_a() } else { gemm };
        if self.transposed[1] { gemm.transpose_b() } else { gemm }
    }

    /// The expected value of each element of `c`; `None` in gaps.
    pub fn product<T: Number, C: Number>(
        self,
        alpha: f64,
        a: &[T],
        b: &[T],
        beta: f64,
        c: &[C],
    ) -> Vec<Option<Exact>> {
        let [lda, ldb, ldc] = self.ld();
        let mut results = vec![None; c.len()];
        for i in 0..self.m {
            for j in 0..self.n {
                let (mut sum, mut size) = (0.0, 0.0);
                for l in 0..self.k {
                    let a = a[if self.transposed[0] { l * lda + i } else { i * lda + l }].exact();
                    let b = b[if self.transposed[1] { j * ldb + l } else { l * ldb + j }].exact();
                    sum += a * b;
                    size += (a * b).abs();
                }
                let c = if beta == 0.0 { 0.0 } else { beta * c[i * ldc + j].exact() };
                let product = if alpha == 0.0 { 0.0 } else { alpha * sum };
                results[i * ldc + j] = Some(Exact { product, added: c, size: alpha.abs() * size + c.abs() });
            }
        }
        results
    }

    /// The largest acceptable error of a result.
    pub fn bound<T: Number, C: Number>(self, exact: Exact) -> f64 {
        // cuBLAS may round a product to the result's type before it adds something to it.
        let first = if exact.added == 0.0 { 0.0 } else { C::ROUNDING * exact.product.abs() };
        let last = 2.0 * C::ROUNDING * exact.value().abs();
        (self.k + 3) as f64 * T::SUMMING * exact.size + first + last + C::LEAST
    }

    /// Compares a result that was `old` before.
    pub fn check<T: Number, C: Number>(self, got: &[C], old: &[C], expected: &[Option<Exact>]) {
        for (at, ((got, old), expected)) in got.iter().zip(old).zip(expected).enumerate() {
            match expected {
                None => assert_eq!(got, old, "{self:?}: element {at} is in a gap"),
                Some(expected) => {
                    let off = (got.exact() - expected.value()).abs();
                    let bound = self.bound::<T, C>(*expected);
                    assert!(
                        off <= bound,
                        "{self:?}: element {at} is {got:?}, not {expected:?}: {off} > {bound}"
                    );
                }
            }
        }
    }
}
