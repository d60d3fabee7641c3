//! What listing a tree costs on a machine with many processes: its own cost, or the machine's?

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::{Bench, Row};

/// Processes beside the tree of ten.
const BYSTANDERS: &str = "10000";

impl Bench {
    /// A tree of ten by its children files, against reading the whole process table.
    pub(super) fn list(&mut self, root: &Path) -> anyhow::Result<()> {
        println!("==> list a tree of 10 beside {BYSTANDERS} processes");
        let mut program = Command::new(root.join("target/release/examples/tree_cost"));
        let output = program.arg(BYSTANDERS).output().context("failed to start tree_cost")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let micros = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        let (walk, table) = micros("walk_us").zip(micros("table_us")).context("tree_cost says nothing")?;
        self.rows.push(Row {
            what: "list a tree of 10 among 10,000 processes".to_owned(),
            ours: format!("{walk:.0} µs"),
            yardstick: format!("whole process table {table:.0} µs"),
            figure: table / walk,
            unit: "x",
            budget: 20.0,
            floor: true,
        });
        Ok(())
    }
}
