//! A table with a row for each contender and a column for each number of devices or threads.

use serde_json::{Map, Value, json};

/// Figures of contenders, by a number of devices or threads, which the title names.
pub struct Figures {
    title: String,
    counts: Vec<usize>,
    rows: Vec<(String, Vec<Option<f64>>)>,
}

/// Characters of a name.
const NAME: usize = 44;

impl Figures {
    pub fn new(title: impl Into<String>, counts: &[usize]) -> Self {
        Self { title: title.into(), counts: counts.to_vec(), rows: Vec::new() }
    }

    /// Notes a figure of a contender.
    pub fn put(&mut self, name: &str, count: usize, figure: f64) {
        let Some(column) = self.counts.iter().position(|of| *of == count) else { return };
        if !self.rows.iter().any(|(row, _)| row == name) {
            self.rows.push((name.to_owned(), vec![None; self.counts.len()]));
        }
        let row = self.rows.iter_mut().find(|(row, _)| row == name);
        row.expect("it was there, or was added").1[column] = Some(figure);
    }

    pub fn of(&self, name: &str, count: usize) -> Option<f64> {
        let column = self.counts.iter().position(|of| *of == count)?;
        self.rows.iter().find(|(row, _)| row == name)?.1[column]
    }

    /// What a contender reaches of another one, by the number of devices.
    pub fn ratios(&self, name: &str, of: &str) -> Vec<(usize, f64)> {
        let ratio = |&count: &usize| Some((count, self.of(name, count)? / self.of(of, count)?));
        self.counts.iter().filter_map(ratio).collect()
    }

    /// What a contender reaches on several of as many times what it reaches on one.
    pub fn efficiency(&self, name: &str) -> Vec<(usize, f64)> {
        let Some(one) = self.of(name, 1) else { return Vec::new() };
        let of = |&count: &usize| Some((count, self.of(name, count)? / (count as f64 * one)));
        self.counts.iter().filter_map(of).collect()
    }

    pub fn print(&self, digits: usize) {
        let heads: String = self.counts.iter().map(|count| format!("{count:>11}")).collect();
        println!("\n{}\n{:<NAME$}{heads}", self.title, "");
        for (name, figures) in &self.rows {
            let cell = |figure: &Option<f64>| figure.map_or("-".to_owned(), |it| format!("{it:.digits$}"));
            let cells: String = figures.iter().map(|figure| format!("{:>11}", cell(figure))).collect();
            println!("{name:<NAME$}{cells}");
        }
    }

    pub fn to_json(&self) -> Value {
        let rows: Map<String, Value> =
            self.rows.iter().map(|(name, figures)| (name.clone(), json!(figures))).collect();
        json!({ "title": self.title, "columns": self.counts, "rows": rows })
    }
}
